import { z } from 'zod';
import type { Random } from '../../kit/random.ts';
import { oneOf, seededRandom, wholeNumber } from '../calls/seeded-random.ts';

const disturbances = ['duplicated', 'delayed', 'dropped', 'tampered', 'wrong_secret', 'rubbish'] as const;

/** What the adversary may do with an attempt; `AdversaryOptions` says what each is. */
export type Disturbance = (typeof disturbances)[number];

/** Options of the adversary: with which share of all attempts, from 0 to 1, it does what. Together at most 1. */
export interface AdversaryOptions {
  /** The same seed does the same with the same attempts. @default 'adversary' */
  readonly seed?: string | number;
  /** Sends it twice, side by side. @default 0.05 */
  readonly duplicated?: number;
  /** Holds it back for up to one of the platform's minutes, so that later events overtake it. @default 0.05 */
  readonly delayed?: number;
  /** Drops the connection when the body is sent: the receiver has it, and the platform doesn't know. @default 0.05 */
  readonly dropped?: number;
  /** Sends a copy first whose body was changed after it was signed. @default 0.05 */
  readonly tampered?: number;
  /** Sends a copy first that is signed with a secret of the past, or one that never was. @default 0.05 */
  readonly wrong_secret?: number;
  /** Sends bytes first that are no event, signed as an event is. @default 0.05 */
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

/** The longest that an attempt is held back, in the platform's milliseconds. */
const longestDelay = 60_000;
/** How much rubbish there is at the most, in bytes. */
const mostRubbish = 2_048;

/**
 * Makes trouble that can be had again: what is done with an attempt follows from the seed, the trace id and the attempt's
 * number alone, never from what happened to be under way beside it.
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

  /** How long to hold it back, in the platform's milliseconds. */
  delay(traceId: string, number: number): number {
    return wholeNumber(this.#draw('delay', traceId, number), 1_000, longestDelay);
  }

  /** The body with one byte of it changed. */
  tampered(body: Uint8Array, traceId: string, number: number): Uint8Array {
    const random = this.#draw('tamper', traceId, number);
    const changed = Uint8Array.from(body);
    const place = wholeNumber(random, 0, body.byteLength - 1);
    changed[place] = (changed[place] ?? 0) ^ wholeNumber(random, 1, 255);
    return changed;
  }

  /** Bytes that are no event: text that is no JSON object, or no text at all. */
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
