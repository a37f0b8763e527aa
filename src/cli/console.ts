import { Console } from 'node:console';

/** Makes the console of an app file write to stderr: stdout is for the result, which programs read. */
export function keepConsoleOffStdout(): void {
  Object.assign(console, new Console(process.stderr));
}
