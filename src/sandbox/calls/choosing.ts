import type { Random } from '../../kit/random.ts';
import { type Scenario, sentiments, transferStatuses } from './call.ts';
import type { ParsedPlan } from './call-plan.ts';
import { conversations, destinations } from './conversations.ts';
import { oneOf, wholeNumber } from './seeded-random.ts';

/** The scenarios of ten calls, from which one is drawn. */
const usualScenarios: readonly [Scenario, ...Scenario[]] = [
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

/** Everything about a call except the time and the agent that it is played for. Durations in milliseconds. */
export type Choice = ReturnType<typeof choose>;

/** Takes what a plan gives, and draws the rest. */
export function choose(plan: ParsedPlan, random: Random) {
  // Everything is drawn, even what the plan gives, so that a field that is given doesn't change the others.
  const drawn = {
    scenario: oneOf(random, usualScenarios),
    conversation: oneOf(random, conversations),
    duration: wholeNumber(random, 5_000, 300_000),
    // Platform document, Limits: typically 1 to 30 seconds.
    analysisAfter: wholeNumber(random, 1_000, 30_000),
    timestamps: oneOf(random, ['iso', 'iso', 'seconds'] as const),
    transferBody: oneOf(random, ['flat', 'wrapped'] as const),
    transferStatus: oneOf(random, transferStatuses),
    sentiment: oneOf(random, sentiments),
    destination: oneOf(random, destinations),
    /** Where in the call the transfer is: somewhere in its middle. */
    transferShare: 0.2 + 0.7 * random(),
    // A range of phone numbers that is reserved for fiction.
    callerNumber: `+120255501${String(wholeNumber(random, 0, 99)).padStart(2, '0')}`,
  };
  return { ...drawn, ...given(plan) };
}

/** The fields of a plan that are given: those that are not undefined. */
function given(plan: ParsedPlan): { readonly [Name in keyof ParsedPlan]?: NonNullable<ParsedPlan[Name]> } {
  return Object.fromEntries(Object.entries(plan).filter(([, value]) => value !== undefined));
}
