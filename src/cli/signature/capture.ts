import { ringbackError } from '../../errors/errors.ts';
import { readInput } from '../arguments.ts';
import type { Headers } from '../../events/model.ts';
import { lowerCase } from '../../signature/headers.ts';

export interface Capture {
  /** The given file, or another name for the capture. */
  readonly file: string;
  /** Names in lower case. */
  readonly headers: Headers;
  /** What follows the blank line, byte for byte. */
  readonly body: Buffer;
}

const requestLine = /^[A-Z]+ \S+( HTTP\/\d(\.\d)?)?$/;
/** Spaces around a value are trimmed later: matching them here would backtrack over long runs of spaces. */
const headerLine = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):(.*)$/;

/**
 * Reads a captured request: request line, headers, a blank line, and the exact bytes of the body. Lines of the head
 * may end with LF or CRLF, and the request line may be missing.
 *
 * @throws RingbackError `capture_unreadable`
 */
export function readCapture(file: string): Capture {
  const bytes = readInput(file, 'capture_unreadable');
  const { lines, end } = headOf(bytes);
  if (end === undefined) throw unreadable(file, 'there is no blank line between headers and body');
  const headers = lines.flatMap((line, index): [string, string][] => {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name !== undefined && value !== undefined) return [[name, value.trim()]];
    if (index === 0 && requestLine.test(line)) return [];
    // The error names only the line's number: a line that isn't a header may contain anything.
    throw unreadable(file, `line ${index + 1} is not a header`);
  });
  return { file, headers: lowerCase(headers), body: bytes.subarray(end) };
}

/** The lines before the first blank one, and where the body begins; undefined if there is no blank line. */
function headOf(bytes: Buffer): { readonly lines: readonly string[]; readonly end: number | undefined } {
  const lines: string[] = [];
  for (
    let start = 0, end = bytes.indexOf('\n');
    end !== -1;
    start = end + 1, end = bytes.indexOf('\n', start)
  ) {
    const line = bytes.toString('latin1', start, end).replace(/\r$/, '');
    if (line === '') return { lines, end: end + 1 };
    lines.push(line);
  }
  return { lines, end: undefined };
}

function unreadable(file: string, cause: string) {
  return ringbackError('capture_unreadable', { file, cause });
}
