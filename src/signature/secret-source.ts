import { RingbackError, configError } from '../errors.ts';
import { messageOf } from '../kit/error-text.ts';
import { type Clock, pause } from '../kit/clock.ts';
import { placeThrownAt } from '../kit/error-location.ts';
import { type PreparedSecret, type Secrets, prepareSecrets } from './secrets.ts';

/** A function of the user's that gives the secrets. */
export type SecretsFunction = () => Secrets | Promise<Secrets>;

/** Secrets are asked for again after this long, so that a withdrawn one stops counting. Milliseconds. */
const freshFor = 30_000;
/**
 * No delivery is judged by secrets that nobody has confirmed for longer. Where deliveries are rare the one that makes us
 * ask would otherwise still be judged by what it asks about: a secret that was withdrawn hours ago. Milliseconds.
 */
const trustedFor = 60_000;
/** After a mismatch they are asked for at once, but a stranger must not make us ask for each delivery. */
const shortestPause = 1_000;
/** How long one question may take, in milliseconds. */
const answerLimit = 5_000;
/** A function that hangs must not hold up a sender that waits one second. */
const patience = 500;

/** Where the current secrets come from: a fixed list, or a function that is asked again. */
export class SecretSource {
  readonly #ask: SecretsFunction | undefined;
  readonly #clock: Clock;
  readonly #onFailure: (message: string) => void;
  #secrets: readonly PreparedSecret[] = [];
  #askedAt = -Infinity;
  /** When the last question was answered, or failed. */
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
   * Asks for the first time: without any secret nothing can be verified, so a failure is the user's to mend.
   *
   * @throws ConfigError `secrets_unavailable`, or what is wrong with a secret.
   */
  async load(): Promise<void> {
    if (this.#ask) await this.#load(this.#ask);
  }

  /** Whether they have to be confirmed before anything is judged by them. */
  get isStale(): boolean {
    return this.#ask !== undefined && this.#clock.elapsed() - this.#settledAt >= trustedFor;
  }

  /** The secrets after a question: the last known ones where there is no answer in time. */
  async confirmed(): Promise<readonly PreparedSecret[]> {
    await this.#refresh();
    return this.#secrets;
  }

  /** The secrets that count now. No delivery waits for them to be asked for again. */
  current(): readonly PreparedSecret[] {
    if (this.#age() >= freshFor) void this.#refresh();
    return this.#secrets;
  }

  /** Secrets that were asked for after a mismatch, or undefined when they were asked for a moment ago. */
  async renewed(): Promise<readonly PreparedSecret[] | undefined> {
    if (!this.#ask || (this.#asking === undefined && this.#age() < shortestPause)) return undefined;
    return this.confirmed();
  }

  #age(): number {
    return this.#ask ? this.#clock.elapsed() - this.#askedAt : 0;
  }

  /** One question at a time, however many deliveries wait for the answer, and for none too long. */
  async #refresh(): Promise<void> {
    const ask = this.#ask;
    if (!ask) return;
    this.#asking ??= this.#load(ask)
      .catch((error: unknown) => this.#onFailure(messageOf(error)))
      .finally(() => {
        this.#asking = undefined;
      });
    await Promise.race([this.#asking, pause(this.#clock, patience)]);
  }

  async #load(ask: SecretsFunction): Promise<void> {
    this.#askedAt = this.#clock.elapsed();
    try {
      this.#secrets = prepareSecrets(await this.#answerOf(ask));
    } finally {
      this.#settledAt = this.#clock.elapsed();
    }
  }

  /** One that never answers must not keep it from being asked again; an answer that comes too late is dropped. */
  async #answerOf(ask: SecretsFunction): Promise<Secrets> {
    let cancel = () => {};
    const tooLate = new Promise<never>((_resolve, reject) => {
      const problem = configError('secrets_unavailable', { cause: 'it did not answer within 5 s' });
      cancel = this.#clock.after(answerLimit, () => reject(problem));
    });
    try {
      return await Promise.race([askNow(ask), tooLate]);
    } finally {
      cancel();
    }
  }
}

async function askNow(ask: SecretsFunction): Promise<Secrets> {
  const secrets = await answered(ask);
  if (typeof secrets === 'string' || Array.isArray(secrets)) return secrets;
  // What is nothing at all is the function's fault, and not that of a secret.
  throw configError('secrets_unavailable', { cause: `it returned something of type ${typeof secrets}` });
}

async function answered(ask: SecretsFunction): Promise<Secrets> {
  try {
    return await ask();
  } catch (error) {
    throw configError('secrets_unavailable', { cause: kindOf(error) });
  }
}

/** What kind of error it is and where it was thrown, never its message: that of a parser quotes what it could not read, a secret. */
function kindOf(error: unknown): string {
  // Our own sentences name the file, and hold no secret.
  if (error instanceof RingbackError) return error.message;
  if (!(error instanceof Error)) return `it threw something of type ${typeof error}`;
  // What fetch throws says in its cause why there was no connection.
  const code = codeOf(error) ?? codeOf(error.cause);
  const place = placeThrownAt(error);
  return [error.name, code, place && `(${place})`].filter((part) => part !== undefined).join(' ');
}

/** Written by programmers, such as ECONNREFUSED; what is not written like that may be anything. */
function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : undefined;
}
