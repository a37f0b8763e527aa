/** Says something to the person in one line, beside the result, which is for programs. */
export function remark(sentence: string): void {
  process.stderr.write(`ringback: ${sentence}\n`);
}
