import { equalInConstantTime, textDigest } from './bytes.ts';

/** Headers that a caller must send, each with its value: a credential. Only digests of the values are kept. */
export class RequiredHeaders {
  readonly #digests: readonly (readonly [name: string, digest: Buffer])[];

  constructor(headers: Iterable<readonly [name: string, value: string]>) {
    this.#digests = [...headers].map(([name, value]) => [name.toLowerCase(), textDigest(value)]);
  }

  /**
   * The first of them that is missing or different. All are always compared: stopping at the first wrong one would
   * reveal by the time it takes which one that is.
   */
  firstWrongIn(headers: Readonly<Record<string, unknown>>): string | undefined {
    let wrong: string | undefined;
    for (const [name, digest] of this.#digests) {
      const found = headers[name];
      const isSame = equalInConstantTime(textDigest(typeof found === 'string' ? found : ''), digest);
      if (!isSame || typeof found !== 'string') wrong ??= name;
    }
    return wrong;
  }
}
