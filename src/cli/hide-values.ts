/**
 * Keeps what was typed out of sentences, which end up in the logs of whatever runs the command: any value may be a
 * secret that was given for the wrong option, or in the place of another argument.
 */

/** Signing secrets, wherever they stand: as the name of a file, of a command or of a fixture. The prefix alone is none. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/whsec_(?=[\w+/=-])[^\s'"`,;)]+/gi, 'whsec_[hidden]');
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
