import type { IncomingHttpHeaders } from 'node:http';
import { equalInConstantTime, textDigest } from '../../kit/bytes.ts';
import { headersOption } from '../../option-problems.ts';

/** The headers that the platform sends to a tool, and that the tool requires. */
export const toolHeadersSchema = headersOption;

/** The headers that distinguish the platform from other callers. Only digests of their values are kept. */
export class RequiredHeaders {
  readonly #digests: readonly (readonly [name: string, digest: Buffer])[];

  constructor(headers: Readonly<Record<string, string>>) {
    this.#digests = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), textDigest(value)]);
  }

  /**
   * Whether all of them are there with their values. All are always compared: stopping at the first wrong one would
   * reveal by the time it takes which one that is.
   */
  areIn(headers: IncomingHttpHeaders): boolean {
    let isSame = true;
    for (const [name, digest] of this.#digests) {
      const found = headers[name];
      isSame = equalInConstantTime(textDigest(typeof found === 'string' ? found : ''), digest) && isSame;
    }
    return isSame;
  }
}
