import { randomUUID } from 'node:crypto';
import { type Logger, pino } from 'pino';
import { z } from 'zod';
import { hostName, isLoopbackAddress } from '../kit/addresses.ts';
import { type Clock, inWholeMilliseconds } from '../kit/clock.ts';
import type { Scheme } from '../events/model.ts';
import { checked, clockOption, hasMethods, parseStrictly } from '../errors/option-problems.ts';
import { type SchemeName, resolveScheme } from '../signature/schemes.ts';
import type { EmbeddingService } from './knowledge/embedding/openai-embedder.ts';
import { type AdversaryOptions, resolveAdversary } from './delivery/adversary.ts';
import { type PromptGenerator, headedPrompt } from './api/prompts.ts';
import { type Seed, parseSeed } from './seed.ts';

/** Options of `createSandbox`. */
export interface SandboxOptions {
  /** The port to listen on; 0 lets the system choose. @default 0 */
  port?: number | undefined;
  /** The loopback address to listen on; any other address is refused. @default '127.0.0.1' */
  host?: string | undefined;
  /** Where the state is stored: a SQLite file, or `':memory:'`. @default ':memory:' */
  database?: string | undefined;
  /** The contents of a new database; an existing one isn't changed. @default a demonstration organization */
  seed?: Seed | undefined;
  /** The seed for random calls: the same value and a new database give the same calls. @default different each time */
  callSeed?: string | number | undefined;
  /** The factor by which calls, and the waits between attempts, run faster. @default 1 */
  speed?: number | undefined;
  /** How deliveries are signed: the name of a scheme, or a scheme. @default 't-v1-hex-whole' */
  scheme?: SchemeName | Scheme | undefined;
  /** Disturbs deliveries: `true`, or rates and a seed. @default none */
  adversary?: boolean | AdversaryOptions | undefined;
  /**
   * What gets its own trace id: each `delivery` of an event to a subscription, or each `event`, so that all of its
   * subscriptions get the same id. The platform's document allows both. @default 'delivery'
   */
  traceIds?: 'delivery' | 'event' | undefined;
  /** Whether deliveries to plain http and IP addresses are given up, as the platform does. @default false */
  strictDeliveries?: boolean | undefined;
  /** Generates prompts. It may ask a model. If it throws, the request is answered with 503. @default headings */
  generatePrompt?: PromptGenerator | undefined;
  /** The query parameter of website discovery, which isn't in the platform's document. @default 'url' */
  websiteParameter?: string | undefined;
  /**
   * The hosts that website discovery and crawls may fetch besides loopback, such as `www.example.com`. @default none
   */
  websiteHosts?: readonly string[] | undefined;
  /**
   * An OpenAI-compatible service that makes the embeddings of knowledge bases, asked for their `embedding_model`. Its
   * address ends before `/embeddings`. @default an embedder without a model, which compares words
   */
  embeddings?: EmbeddingService | undefined;
  /** A pino instance. @default nothing is logged */
  logger?: Logger | undefined;
  /** The source of time, for tests. @default the machine's */
  clock?: Clock | undefined;
}

const optionsSchema = z.strictObject({
  port: z.int('a port: a whole number from 0 to 65535').min(0, 'a port').max(65_535, 'a port').default(0),
  // Only loopback: the sandbox's keys are for tests, and it sends requests to any address that a client names. Both
  // would be dangerous on a network.
  host: checked("an address of loopback, such as '127.0.0.1' or '::1'", readHost).default('127.0.0.1'),
  database: z.string("a file or ':memory:'").min(1, "a file or ':memory:'").default(':memory:'),
  seed: z.unknown().optional(),
  callSeed: z
    .union([z.string(), z.number()], 'a text or a number')
    .transform(String)
    // With a fixed default, every new sandbox would play the same calls, and a receiver would take those of the second
    // one for duplicates.
    .default(() => randomUUID()),
  speed: z.number('a number above 0').positive('a number above 0').default(1),
  scheme: z.unknown().optional(),
  adversary: z.unknown().optional(),
  // The platform's document calls the trace id a unique delivery identifier.
  traceIds: z.enum(['delivery', 'event'], "'delivery' or 'event'").default('delivery'),
  // Off, because a receiver on a laptop listens on http and loopback.
  strictDeliveries: z.boolean('true or false').default(false),
  generatePrompt: checked('a function', (value) =>
    typeof value === 'function' ? (value as PromptGenerator) : undefined,
  ).default(() => headedPrompt),
  websiteParameter: z
    .string('the name of a query parameter')
    .min(1, 'the name of a query parameter')
    .default('url'),
  websiteHosts: z
    .array(
      checked('a name of a host without a port, such as www.example.com', readHostName),
      'a list of hosts',
    )
    .default([]),
  embeddings: z
    .strictObject(
      {
        url: z.url({
          protocol: /^https?$/,
          error: "an http or https address, such as 'http://127.0.0.1:11434/v1'",
        }),
        apiKey: z.string('text').optional(),
      },
      'an object with url, and optionally apiKey',
    )
    .optional(),
  logger: checked('a pino instance', (value) =>
    hasMethods(value, ['child', 'debug', 'warn', 'error']) ? (value as Logger) : undefined,
  ).default(() => pino({ level: 'silent' })),
  clock: clockOption,
});

/** The checked options with all defaults. */
export type ResolvedSandboxOptions = ReturnType<typeof resolveSandboxOptions>;

/** @throws ConfigError that says which option, what was expected, and what was found; `seed_invalid` */
export function resolveSandboxOptions(options: SandboxOptions) {
  const { seed, scheme, adversary, ...rest } = parseStrictly(optionsSchema, options, 'createSandbox');
  return {
    ...rest,
    clock: inWholeMilliseconds(rest.clock),
    seed: seed === undefined ? undefined : parseSeed(seed),
    scheme: resolveScheme((scheme ?? 't-v1-hex-whole') as SchemeName | Scheme, 'scheme'),
    adversary: readAdversary(adversary),
  };
}

/** Checked apart from the other options: the error of a union would name only `adversary`, not the wrong rate. */
function readAdversary(adversary: unknown = false) {
  return adversary === false ? undefined : resolveAdversary(adversary === true ? {} : adversary);
}

function readHostName(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.toLowerCase() : '';
  return name !== '' && hostName(name) === name ? name : undefined;
}

function readHost(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return value === 'localhost' || isLoopbackAddress(value) ? value : undefined;
}
