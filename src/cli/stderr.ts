/**
 * Writes to stderr, because stdout is for the result, which programs read. Typed values are left out, because stderr
 * ends up in logs, and any value may be a secret that was given for the wrong option or argument.
 */
import { Console } from 'node:console';
import { withoutControls } from './terminal.ts';

/** Writes one line for the user. Control characters are escaped, because it may quote what a file or a server says. */
export function remark(sentence: string): void {
  process.stderr.write(`ringback: ${withoutControls(withoutSecrets(sentence))}\n`);
}

/** Makes the console of an app file write to stderr. */
export function keepConsoleOffStdout(): void {
  Object.assign(console, new Console(process.stderr));
}

/**
 * Called when the output can't be written. A reader that has left, such as `head`, is no failure: the command has done
 * its work. On a full disk the output is missing, so the command fails.
 */
export function onOutputFailure(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  remark(
    `The output should be written to stdout, but it can't be: ${error.message}. Free some space, and run this again.`,
  );
  process.exit(1);
}

/**
 * Hides signing secrets anywhere in a text, but not the bare prefix `whsec_`. Also hides the user and password of a
 * database, up to the last @ of a URL that may be invalid, and its query.
 */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(/whsec_(?=[\w+/=-])[^\s'"`,;)]+/gi, 'whsec_[hidden]')
    .replaceAll(/(?<=\bpostgres(?:ql)?:\/\/)[^\n'"]*@/gi, '[hidden]@')
    .replaceAll(/(?<=\bpostgres(?:ql)?:\/\/[^\s'"?]*\?)[^\s'"]+/gi, '[hidden]');
}

/** A usage error without the values that it quotes; what was expected stays. */
export function withoutValues(usageError: string): string {
  return withoutSecrets(
    usageError
      .replace(/^(error: option '[^']*') argument '.*' is invalid\./s, '$1 has an invalid value.')
      .replace(/^(error: )command-argument value '.*' is invalid/s, '$1the value is invalid')
      .replace(/^(error: unknown option '[^'=]*)=.*'/s, "$1'"),
  );
}
