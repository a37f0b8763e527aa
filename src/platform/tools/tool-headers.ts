import type { IncomingHttpHeaders } from 'node:http';
import { equalInConstantTime, textDigest } from '../../kit/bytes.ts';
import { headersOption } from '../../option-problems.ts';

/** The headers that the platform is to send to a tool, and that the tool then expects. */
export const toolHeadersSchema = headersOption;

/** The headers that tell the platform from anybody else. The values are kept as digests only. */
export class RequiredHeaders {
  readonly #digests: readonly (readonly [name: string, digest: Buffer])[];

  constructor(headers: Readonly<Record<string, string>>) {
    this.#digests = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), textDigest(value)]);
  }

  /**
   * Whether all of them are there with their values. All are compared, because stopping at the first would tell which
   * one is wrong.
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
