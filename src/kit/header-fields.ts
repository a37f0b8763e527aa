/** Valid names and values of headers, and headers as credentials. */
import { equalInConstantTime, textDigest } from './bytes.ts';

/** A valid name of a header (RFC 9110, 5.1). */
export const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** A value that arrives unchanged: no control characters, no blanks at the ends. */
export const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** The headers with their names in lower case. */
export function lowerCased<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/**
 * Headers that any client sends, that proxies add, and that every delivery of the platform has (platform document,
 * Delivery rules). None of them is secret, so any sender could pass for the platform.
 */
const ordinary =
  /^(?:accept|accept-.+|connection|content-.+|forwarded|host|origin|referer|te|transfer-encoding|user-agent|via|x-forwarded-.+|x-real-ip|x-webhook-.+)$/i;

/** Whether at least one of the headers may be a secret of the subscription. */
export function hasOwnHeader(names: Iterable<string>): boolean {
  return [...names].some((name) => !ordinary.test(name));
}

/** Headers that a caller must send, each with its value: a credential. Only digests of the values are kept. */
export class RequiredHeaders {
  readonly #digests: readonly (readonly [name: string, digest: Buffer])[];

  constructor(headers: Iterable<readonly [name: string, value: string]>) {
    this.#digests = [...headers].map(([name, value]) => [name.toLowerCase(), textDigest(value)]);
  }

  /**
   * The first of them that is missing or different. Always compares all: the time of stopping at the first wrong one
   * would reveal which one that is.
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
