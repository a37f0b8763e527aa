import { RingbackError, configError } from '../errors/errors.ts';
import { isError, messageOf } from '../kit/error-text.ts';
import { type Clock, inTime, pause } from '../kit/clock.ts';
import { locationThrownAt } from '../kit/error-location.ts';
import { type PreparedSecret, type Secrets, prepareSecrets } from './secrets.ts';

/** The user's function that returns the secrets. */
export type SecretsFunction = () => Secrets | Promise<Secrets>;

/** Milliseconds after which the function is called again, so that a withdrawn secret stops being accepted. */
const freshFor = 30_000;
/**
 * Milliseconds after the last answer or failure from which on a delivery waits for the function. Otherwise, if
 * deliveries are rare, the one that causes the call would still be verified with the old secrets, of which one may have
 * been withdrawn hours ago.
 */
const trustedFor = 60_000;
/**
 * The least time between two calls after mismatches, in milliseconds. A mismatch calls the function at once, but an
 * unauthenticated sender must not cause a call with each delivery.
 */
const minPause = 1_000;
/** How long the function may take to answer, in milliseconds. */
const answerLimit = 5_000;
/** How long a delivery waits for the function, in milliseconds: its sender waits only one second. */
const timeout = 500;

const keepLast = 'Make it return the last known secrets when its source is down.';

/** Where the current secrets come from: a fixed list, or a function that is called again and again. */
export class SecretSource {
  readonly #ask: SecretsFunction | undefined;
  readonly #clock: Clock;
  readonly #onFailure: (message: string) => void;
  #secrets: readonly PreparedSecret[] = [];
  #askedAt = -Infinity;
  /** When the last call ended, with an answer or a failure. */
  #settledAt = -Infinity;
  #asking: Promise<void> | undefined;

  constructor(
    secrets: readonly PreparedSecret[] | SecretsFunction,
    clock: Clock,
    onFailure: (message: string) => void,
  ) {
    this.#ask = typeof secrets === 'function' ? secrets : undefined;
    if (typeof secrets !== 'function') this.#secrets = secrets;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /**
   * Calls the function for the first time. A failure is thrown, because nothing can be verified without a secret.
   *
   * @throws ConfigError `secrets_unavailable`, or an error of `prepareSecrets` about the secrets.
   */
  async load(): Promise<void> {
    if (this.#ask) await this.#load(this.#ask);
  }

  /** The secrets to verify a delivery with; undefined if the function must be called again before. */
  trusted(): readonly PreparedSecret[] | undefined {
    if (!this.#ask) return this.#secrets;
    return this.#clock.elapsed() - this.#settledAt >= trustedFor ? undefined : this.current();
  }

  /** Calls the function again. Resolves to its secrets, or to the last known ones if it fails or is too slow. */
  async confirmed(): Promise<readonly PreparedSecret[]> {
    await this.#refresh();
    return this.#secrets;
  }

  /** The last known secrets, without waiting. If they are old, the function is called in the background. */
  current(): readonly PreparedSecret[] {
    if (this.#age() >= freshFor) void this.#refresh();
    return this.#secrets;
  }

  /** Calls again after a mismatch. Undefined if the secrets are a fixed list, or were asked for a moment ago. */
  async renewed(): Promise<readonly PreparedSecret[] | undefined> {
    if (!this.#ask || (this.#asking === undefined && this.#age() < minPause)) return undefined;
    return this.confirmed();
  }

  #age(): number {
    return this.#ask ? this.#clock.elapsed() - this.#askedAt : 0;
  }

  /** Calls the function unless a call is in flight, and waits for the answer, at most `timeout`. */
  async #refresh(): Promise<void> {
    const ask = this.#ask;
    if (!ask) return;
    this.#asking ??= this.#load(ask)
      .catch((error: unknown) => this.#onFailure(messageOf(error)))
      .finally(() => {
        this.#asking = undefined;
      });
    await Promise.race([this.#asking, pause(this.#clock, timeout)]);
  }

  async #load(ask: SecretsFunction): Promise<void> {
    this.#askedAt = this.#clock.elapsed();
    try {
      this.#secrets = prepareSecrets(await this.#answerOf(ask));
    } finally {
      this.#settledAt = this.#clock.elapsed();
    }
  }

  /** Gives up on a function that doesn't answer, so that it can be called again. A late answer is dropped. */
  async #answerOf(ask: SecretsFunction): Promise<Secrets> {
    return inTime(this.#clock, answerLimit, askNow(ask), () =>
      configError('secrets_unavailable', { cause: 'it did not answer within 5 s', fix: keepLast }),
    );
  }
}

async function askNow(ask: SecretsFunction): Promise<Secrets> {
  const secrets = await answered(ask);
  if (typeof secrets === 'string' || Array.isArray(secrets)) return secrets;
  // An answer of another type is a mistake in the function, not in one secret.
  throw configError('secrets_unavailable', {
    cause: `it returned something of type ${typeof secrets}`,
    fix: 'Make it return the secret as text, or a list of secrets.',
  });
}

async function answered(ask: SecretsFunction): Promise<Secrets> {
  try {
    return await ask();
  } catch (error) {
    // Ringback's own messages say what to do.
    const fix = error instanceof RingbackError ? undefined : keepLast;
    throw configError('secrets_unavailable', { cause: kindOf(error), fix });
  }
}

/**
 * The kind of an error and where it was thrown, never its message: a parser's message quotes the text that it could not
 * read, which may be a secret.
 */
function kindOf(error: unknown): string {
  // Ringback's own messages name the file, and contain no secret.
  if (error instanceof RingbackError) return error.message;
  if (!isError(error)) return `it threw something of type ${typeof error}`;
  // fetch puts the reason for a failed connection into the error's cause.
  const code = codeOf(error) ?? codeOf(error.cause);
  const location = locationThrownAt(error);
  return [error.name, code, location && `(${location})`].filter((part) => part !== undefined).join(' ');
}

/** An error's code if it has the form of ECONNREFUSED. Any other may hold anything. */
function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : undefined;
}
