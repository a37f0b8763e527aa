import { z } from 'zod';
import { configError } from '../../errors/errors.ts';
import type { Random } from '../../kit/clock.ts';
import { parseStrictly } from '../../errors/option-problems.ts';
import { oneOf, seededRandom, wholeNumber } from '../calls/seeded-random.ts';

const disturbances = ['duplicated', 'delayed', 'dropped', 'tampered', 'wrong_secret', 'rubbish'] as const;

/** What the adversary may do with an attempt; see `AdversaryOptions`. */
export type Disturbance = (typeof disturbances)[number];

/**
 * Options of the adversary: the share of all attempts for each disturbance, from 0 to 1; together at most 1. If none
 * is given, each is 0.05; if any is given, the others are 0.
 */
export interface AdversaryOptions {
  /** The same seed disturbs the same attempts in the same way. @default 'adversary' */
  readonly seed?: string | number | undefined;
  /** Sends the event twice at the same time. */
  readonly duplicated?: number | undefined;
  /** Delays the attempt by up to a minute of the platform's time, so that later events overtake it. */
  readonly delayed?: number | undefined;
  /** Drops the connection once the body is sent: the receiver has the event, but the platform no answer. */
  readonly dropped?: number | undefined;
  /** First sends a copy whose body was changed after signing. */
  readonly tampered?: number | undefined;
  /** First sends a copy signed with an old secret, or with one that never existed. */
  readonly wrong_secret?: number | undefined;
  /** First sends bytes that are not an event, with a valid signature. */
  readonly rubbish?: number | undefined;
}

const expected = 'a number from 0 to 1';
const rate = z.number(expected).min(0, expected).max(1, expected).optional();
const defaultRate = 0.05;

const adversarySchema = z.strictObject({
  seed: z.union([z.string(), z.number()], 'a text or a number').transform(String).default('adversary'),
  duplicated: rate,
  delayed: rate,
  dropped: rate,
  tampered: rate,
  wrong_secret: rate,
  rubbish: rate,
});

type ResolvedAdversary = { readonly seed: string } & Readonly<Record<Disturbance, number>>;

/** @throws ConfigError `option_invalid`, `option_unknown` */
export function resolveAdversary(options: unknown): ResolvedAdversary {
  const given = parseStrictly(adversarySchema, options, 'adversary');
  // A named disturbance is the only one wanted; with the default rates beside it, no rate could be 1.
  const others = disturbances.some((disturbance) => given[disturbance] !== undefined) ? 0 : defaultRate;
  const rates = Object.fromEntries(disturbances.map((name) => [name, given[name] ?? others]));
  const resolved = { ...(rates as Record<Disturbance, number>), seed: given.seed };
  requireAtMostOne(sumOf(resolved));
  return resolved;
}

/** Rounded, because 0.1 and 0.2 are not exactly 0.3 in floating point. */
function sumOf(rates: Readonly<Record<Disturbance, number>>): number {
  const sum = disturbances.reduce((total, disturbance) => total + rates[disturbance], 0);
  return Math.round(sum * 1e9) / 1e9;
}

function requireAtMostOne(sum: number): void {
  if (sum <= 1) return;
  throw configError('option_invalid', {
    option: 'adversary, as the sum of its rates,',
    expected: 'at most 1',
    found: String(sum),
  });
}

/** The longest delay of an attempt, in the platform's milliseconds. */
const maxDelay = 60_000;
const maxRubbish = 2_048;

/**
 * Disturbs deliveries reproducibly: a disturbance depends only on the seed, the trace id and the attempt's number,
 * never on what else is in flight.
 */
export class Adversary {
  readonly #options: ResolvedAdversary;

  constructor(options: ResolvedAdversary) {
    this.#options = options;
  }

  decide(traceId: string, number: number): Disturbance | undefined {
    let drawn = this.#draw('decide', traceId, number)();
    for (const disturbance of disturbances) {
      if (drawn < this.#options[disturbance]) return disturbance;
      drawn -= this.#options[disturbance];
    }
    return undefined;
  }

  delay(traceId: string, number: number): number {
    return wholeNumber(this.#draw('delay', traceId, number), 1_000, maxDelay);
  }

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
    const length = wholeNumber(random, 1, maxRubbish);
    const text = oneOf(random, ['', '[]', 'null', '{', '"text"', '{"traceId":']);
    if (random() < 0.5) return Buffer.from(text.padEnd(length));
    return randomBytes(random, length);
  }

  /** A secret that the receiver doesn't have. */
  unknownSecret(): string {
    return `whsec_${Buffer.from(randomBytes(this.#draw('secret'), 24)).toString('base64')}`;
  }

  #draw(...words: readonly (string | number)[]): Random {
    return seededRandom(this.#options.seed, ...words);
  }
}

function randomBytes(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => wholeNumber(random, 0, 255));
}
