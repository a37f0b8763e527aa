/**
 * What the command writes to stderr: stdout is for the result, which programs read. What was typed is kept out of it,
 * since it ends up in the logs of whatever runs the command: any value may be a secret that was given for the wrong
 * option, or in the place of another argument.
 */
import { Console } from 'node:console';
import { withoutControls } from './terminal.ts';

/** Writes one line for the person. It may quote what a file or a server says: the terminal is to act on nothing of it. */
export function remark(sentence: string): void {
  process.stderr.write(`ringback: ${withoutControls(withoutSecrets(sentence))}\n`);
}

/** Makes the console of an app file write to stderr. */
export function keepConsoleOffStdout(): void {
  Object.assign(console, new Console(process.stderr));
}

/**
 * Called when the output can't be written. A reader that has gone, such as `head`, is no failure, because the command
 * has done its work. On a full disk the output is missing, and the command must not look as if it had succeeded.
 */
export function onOutputFailure(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  remark(
    `The output should be written to stdout, but it can't be: ${error.message}. Make room, and run this again.`,
  );
  process.exit(1);
}

/**
 * Hides signing secrets, as the name of a file, of a command or of a fixture; the prefix alone is none. Also the user and
 * the password of a database, up to the last @ of what may be no valid URL, and what follows its question mark.
 */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/whsec_(?=[\w+/=-])[^\s'"`,;)]+/gi, 'whsec_[hidden]')
    .replaceAll(/(?<=\bpostgres(?:ql)?:\/\/)[^\n'"]*@/gi, '[hidden]@')
    .replaceAll(/(?<=\bpostgres(?:ql)?:\/\/[^\s'"?]*\?)[^\s'"]+/gi, '[hidden]');
}

/** A usage error of the command line without the values that it quotes; what was expected stays. */
export function withoutValues(usageError: string): string {
  return withoutSecrets(
    usageError
      .replace(/^(error: option '[^']*') argument '.*' is invalid\./s, '$1 has an invalid value.')
      .replace(/^(error: )command-argument value '.*' is invalid/s, '$1the value is invalid')
      .replace(/^(error: unknown option '[^'=]*)=.*'/s, "$1'"),
  );
}
