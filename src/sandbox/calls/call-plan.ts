import { z } from 'zod';
import { type Duration, parseDuration } from '../../kit/duration.ts';
import type { Random } from '../../kit/clock.ts';
import { checked } from '../../errors/option-problems.ts';
import { defined } from '../../kit/values.ts';
import { type Scenario, scenarios, sentiments, transferStatuses } from './call.ts';
import { conversations, destinations } from './conversations.ts';
import { oneOf, wholeNumber } from './seeded-random.ts';

/** How to play one call. Missing fields are drawn at random from the sandbox's `callSeed`. */
export interface CallPlan {
  /** @default drawn: of ten calls about six are completed, two transferred, one is unanalysed, one failed */
  readonly scenario?: Scenario | undefined;
  /** The id of the call; each id can be played once. @default 24 hex digits */
  readonly callId?: string | undefined;
  /** @default drawn from the organization's agents */
  readonly agentId?: string | undefined;
  /** @default the first of the sandbox */
  readonly organizationId?: string | undefined;
  /** From the start to the end. @default drawn: 5 seconds to 5 minutes */
  readonly duration?: Duration | undefined;
  /** From the end to the analysis. @default drawn: 1 to 30 seconds */
  readonly analysisAfter?: Duration | undefined;
  /** How times are written: ISO 8601 with nanoseconds, or UNIX seconds. The document has both. @default drawn */
  readonly timestamps?: 'iso' | 'seconds' | undefined;
  /** The transfer's body: flat, as the document's sample, or in the envelope. @default drawn */
  readonly transferBody?: 'flat' | 'wrapped' | undefined;
  /** @default drawn */
  readonly transferStatus?: (typeof transferStatuses)[number] | undefined;
  /** The caller's sentiment before the transfer. @default drawn */
  readonly sentiment?: (typeof sentiments)[number] | undefined;
}

const expected = {
  id: 'text that is not blank, of at most 200 characters',
  duration: "milliseconds or a duration such as '90s', at most a day",
  scenario: "'completed', 'transferred', 'unanalysed' or 'failed'",
};

const maxDuration = 86_400_000;

const id = z.string(expected.id).regex(/\S/, expected.id).max(200, expected.id).optional();
const duration = checked(expected.duration, (value) => {
  const milliseconds = parseDuration(value);
  return milliseconds !== undefined && milliseconds <= maxDuration ? milliseconds : undefined;
}).optional();

export const callPlanSchema = z.strictObject({
  scenario: z.enum(scenarios, expected.scenario).optional(),
  callId: id,
  agentId: id,
  organizationId: id,
  duration,
  analysisAfter: duration,
  timestamps: z.enum(['iso', 'seconds'], "'iso' or 'seconds'").optional(),
  transferBody: z.enum(['flat', 'wrapped'], "'flat' or 'wrapped'").optional(),
  transferStatus: z.enum(transferStatuses, "'pending', 'initiated', 'success' or 'failed'").optional(),
  sentiment: z.enum(sentiments, "'positive', 'neutral' or 'negative'").optional(),
});

export type ParsedPlan = z.output<typeof callPlanSchema>;

const scenarioShares: readonly [Scenario, ...Scenario[]] = [
  'completed',
  'completed',
  'completed',
  'completed',
  'completed',
  'completed',
  'transferred',
  'transferred',
  'unanalysed',
  'failed',
];

/** Everything about a call except its time and its agent. Durations in milliseconds. */
export type Choice = ReturnType<typeof choose>;

export function choose(plan: ParsedPlan, random: Random) {
  // Draws everything, even what the plan gives, so that a given field doesn't change the others.
  const drawn = {
    scenario: oneOf(random, scenarioShares),
    conversation: oneOf(random, conversations),
    duration: wholeNumber(random, 5_000, 300_000),
    // Platform document, Limits: typically 1 to 30 seconds.
    analysisAfter: wholeNumber(random, 1_000, 30_000),
    timestamps: oneOf(random, ['iso', 'iso', 'seconds'] as const),
    transferBody: oneOf(random, ['flat', 'wrapped'] as const),
    transferStatus: oneOf(random, transferStatuses),
    sentiment: oneOf(random, sentiments),
    destination: oneOf(random, destinations),
    /** The point of the transfer, somewhere in the middle of the call. */
    transferShare: 0.2 + 0.7 * random(),
    // From a range of phone numbers reserved for fiction.
    callerNumber: `+120255501${String(wholeNumber(random, 0, 99)).padStart(2, '0')}`,
  };
  return { ...drawn, ...defined(plan) };
}
