import type { Headers } from '../events/model.ts';

const platformsOwn = /^(x-webhook-|webhook-|content-type$|user-agent$)/;

/** Which headers are kept with the bytes of a delivery: the platform's own, and the signature. */
export class KeptHeaders {
  readonly #signatureHeaders: readonly string[];
  readonly #credentials: ReadonlyMap<string, string>;

  /** `signatureHeaders` are kept besides the platform's own; `credentials` never are. */
  constructor(signatureHeaders: readonly string[], credentials: ReadonlyMap<string, string>) {
    this.#signatureHeaders = signatureHeaders;
    this.#credentials = credentials;
  }

  /** Those of a delivery's headers that are kept. */
  of(headers: Headers): Headers {
    const kept: Record<string, Headers[string]> = {};
    for (const name of Object.keys(headers)) {
      const isOfUse = platformsOwn.test(name) || this.#signatureHeaders.includes(name);
      if (isOfUse && !this.#credentials.has(name)) kept[name] = headers[name];
    }
    return kept;
  }

  /** Whether one of these headers may hold a signature. */
  haveSignature(headers: Headers): boolean {
    return Object.keys(headers).some(
      (name) => name.includes('signature') || this.#signatureHeaders.includes(name),
    );
  }
}
