import { z } from 'zod';
import type { Random } from '../../kit/random.ts';
import { oneOf, seededRandom, wholeNumber } from '../calls/seeded-random.ts';

const disturbances = ['duplicated', 'delayed', 'dropped', 'tampered', 'wrong_secret', 'rubbish'] as const;

/** What the adversary may do with an attempt; `AdversaryOptions` says what each is. */
export type Disturbance = (typeof disturbances)[number];

/** Options of the adversary: for each disturbance its share of all attempts, from 0 to 1; together at most 1. */
export interface AdversaryOptions {
  /** With the same seed, the adversary does the same with the same attempts. @default 'adversary' */
  readonly seed?: string | number;
  /** Sends the event twice at the same time. @default 0.05 */
  readonly duplicated?: number;
  /** Delays the attempt by up to a minute of the platform's time, so that later events overtake it. @default 0.05 */
  readonly delayed?: number;
  /** Drops the connection once the body is sent: the receiver has the event, the platform no answer. @default 0.05 */
  readonly dropped?: number;
  /** First sends a copy whose body was changed after signing. @default 0.05 */
  readonly tampered?: number;
  /** First sends a copy signed with an old secret, or with one that never existed. @default 0.05 */
  readonly wrong_secret?: number;
  /** First sends bytes that are not an event, with a valid signature. @default 0.05 */
  readonly rubbish?: number;
}

const expected = 'a number from 0 to 1';
const rate = z.number(expected).min(0, expected).max(1, expected).default(0.05);

/** Checks the options of the adversary. */
export const adversarySchema = z
  .strictObject({
    seed: z.union([z.string(), z.number()], 'a text or a number').transform(String).default('adversary'),
    duplicated: rate,
    delayed: rate,
    dropped: rate,
    tampered: rate,
    wrong_secret: rate,
    rubbish: rate,
  })
  .refine((rates) => disturbances.reduce((sum, disturbance) => sum + rates[disturbance], 0) <= 1, {
    message: 'with rates that are at most 1 together',
  });

/** The longest delay of an attempt, in the platform's milliseconds. */
const longestDelay = 60_000;
/** The most bytes of rubbish in one request. */
const mostRubbish = 2_048;

/**
 * Disturbs deliveries reproducibly: what is done with an attempt depends only on the seed, the trace id and the
 * attempt's number, never on what else is under way.
 */
export class Adversary {
  readonly #options: z.output<typeof adversarySchema>;

  constructor(options: z.output<typeof adversarySchema>) {
    this.#options = options;
  }

  /** What to do with an attempt, or undefined to leave it alone. */
  decide(traceId: string, number: number): Disturbance | undefined {
    let drawn = this.#draw('decide', traceId, number)();
    for (const disturbance of disturbances) {
      if (drawn < this.#options[disturbance]) return disturbance;
      drawn -= this.#options[disturbance];
    }
    return undefined;
  }

  /** How long to delay an attempt, in the platform's milliseconds. */
  delay(traceId: string, number: number): number {
    return wholeNumber(this.#draw('delay', traceId, number), 1_000, longestDelay);
  }

  /** The body with one byte changed. */
  tampered(body: Uint8Array, traceId: string, number: number): Uint8Array {
    const random = this.#draw('tamper', traceId, number);
    const changed = Uint8Array.from(body);
    const place = wholeNumber(random, 0, body.byteLength - 1);
    changed[place] = (changed[place] ?? 0) ^ wholeNumber(random, 1, 255);
    return changed;
  }

  /** Bytes that are not an event: text that is not a JSON object, or random bytes. */
  rubbish(traceId: string, number: number): Uint8Array {
    const random = this.#draw('rubbish', traceId, number);
    const length = wholeNumber(random, 1, mostRubbish);
    const text = oneOf(random, ['', '[]', 'null', '{', '"text"', '{"traceId":']);
    if (random() < 0.5) return Buffer.from(text.padEnd(length));
    return randomBytes(random, length);
  }

  /** A secret that the receiver doesn't have. */
  strangeSecret(): string {
    return `whsec_${Buffer.from(randomBytes(this.#draw('secret'), 24)).toString('base64')}`;
  }

  #draw(...words: readonly (string | number)[]): Random {
    return seededRandom(this.#options.seed, ...words);
  }
}

function randomBytes(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => wholeNumber(random, 0, 255));
}
