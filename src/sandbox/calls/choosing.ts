import type { Random } from '../../kit/random.ts';
import { type Scenario, sentiments, transferStatuses } from './call.ts';
import type { ParsedPlan } from './call-plan.ts';
import { conversations, destinations } from './conversations.ts';
import { oneOf, wholeNumber } from './seeded-random.ts';

/** Of ten calls. */
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

/** Everything about a call that is not decided by when and for whom it is played. Durations in milliseconds. */
export type Choice = ReturnType<typeof choose>;

/** Takes what a plan gives, and draws the rest. */
export function choose(plan: ParsedPlan, random: Random) {
  // All of it is drawn, whatever is given: so that what is given changes nothing else.
  const drawn = {
    scenario: oneOf(random, usualScenarios),
    conversation: oneOf(random, conversations),
    duration: wholeNumber(random, 5_000, 300_000),
    // Limits: typically 1 to 30 seconds.
    analysisAfter: wholeNumber(random, 1_000, 30_000),
    timestamps: oneOf(random, ['iso', 'iso', 'seconds'] as const),
    transferBody: oneOf(random, ['flat', 'wrapped'] as const),
    transferStatus: oneOf(random, transferStatuses),
    sentiment: oneOf(random, sentiments),
    destination: oneOf(random, destinations),
    /** Where in the call the transfer is: somewhere in its middle. */
    transferShare: 0.2 + 0.7 * random(),
    // A range of numbers that is kept for fiction.
    callerNumber: `+120255501${String(wholeNumber(random, 0, 99)).padStart(2, '0')}`,
  };
  return { ...drawn, ...given(plan) };
}

/** What is undefined is not given. */
function given(plan: ParsedPlan): { readonly [Name in keyof ParsedPlan]?: NonNullable<ParsedPlan[Name]> } {
  return Object.fromEntries(Object.entries(plan).filter(([, value]) => value !== undefined));
}
