import { withoutSecrets } from './hide-values.ts';

/** Writes one line for the person to stderr: stdout is for the result, which programs read. */
export function remark(sentence: string): void {
  process.stderr.write(`ringback: ${withoutSecrets(sentence)}\n`);
}
