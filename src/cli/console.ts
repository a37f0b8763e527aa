import { Console } from 'node:console';

/** Has the console of whatever an app file loads write on stderr: stdout is for the result, which programs read. */
export function keepConsoleOffStdout(): void {
  Object.assign(console, new Console(process.stderr));
}
