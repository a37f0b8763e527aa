import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { givenText } from '../errors/option-problems.ts';
import type { DismissedRun, EventFilter } from '../store/event-store.ts';
import type { Sequence } from '../store/sequence.ts';
import { type ReplayParts, requireCondition } from './replay.ts';
import { RunTally } from './run-tally.ts';

/** How to dismiss. */
export interface DismissOptions {
  /** Only runs of this handler. @default the filter's `handler`, else every handler */
  readonly only?: string | undefined;
  /** Who dismisses them; kept in the reason of each run, and in the audit list. @default nobody is named */
  readonly by?: string | undefined;
  /** Why; kept in the reason of each run, and in the audit list. */
  readonly reason: string;
  /** Dismisses nothing, and returns what would be dismissed. @default false */
  readonly dryRun?: boolean | undefined;
}

/** What was dismissed, or would be. */
export interface DismissResult {
  readonly events: number;
  readonly runs: number;
  /** How many runs of each handler. */
  readonly handlers: Readonly<Record<string, number>>;
}

/** What dismissing works with. */
type DismissalParts = Pick<
  ReplayParts,
  'store' | 'audit' | 'telemetry' | 'clock' | 'handlerNames' | 'requireStarted'
>;

export const dismissOptionsSchema = z.strictObject({
  only: givenText.optional().describe('Only runs of this handler.'),
  by: givenText.optional(),
  reason: givenText,
  dryRun: z.boolean('true or false').default(false),
});

/**
 * Goes through the events in order of arrival, a bounded number at a time, so that intake is never held up. Each step
 * is one transaction, and dismissed runs are not found again: after a crash in the middle, the same request dismisses
 * the rest.
 */
export async function runDismissal(
  parts: DismissalParts,
  filter: EventFilter,
  { only, by, reason: why, dryRun }: z.output<typeof dismissOptionsSchema>,
): Promise<DismissResult> {
  const handler = only ?? filter.handler;
  requireCondition(filter, 'events.dismiss(filter)', "To dismiss every dead letter, say { state: 'dead' }.");
  if (filter.state !== 'dead') requireGone(handler, parts.handlerNames());
  const kinds = { handler, takesDead: filter.state !== 'open', takesWaiting: filter.state !== 'dead' };
  const { store, audit, clock, telemetry } = parts;
  if (dryRun) return goThrough(parts, filter, (sequences) => store.wouldDismiss({ ...kinds, sequences }));
  const reason = `dismissed${by === undefined ? '' : ` by ${by}`}: ${why}`;
  const what = JSON.stringify({ ...filter, only });
  return audit.record({ action: 'dismiss', what, by, reason: why }, async () => {
    const result = await goThrough(parts, filter, (sequences) =>
      store.dismiss({ ...kinds, sequences, reason, now: clock.now() }),
    );
    const { events, runs, handlers } = result;
    telemetry.report('runs_dismissed', { events, runs, handlers: Object.keys(handlers) });
    return { result, counts: { events, runs } };
  });
}

/** Gives each part of the matching events to `dismiss`. */
async function goThrough(
  { store, requireStarted }: DismissalParts,
  filter: EventFilter,
  dismiss: (sequences: readonly Sequence[]) => Promise<readonly DismissedRun[]>,
): Promise<DismissResult> {
  const tally = new RunTally();
  const upTo = await store.lastSequence();
  for (let after = 0; after < upTo;) {
    requireStarted('events.dismiss()');
    const { events, reached } = await store.stretch(filter, after, upTo);
    after = reached;
    if (events.length > 0) tally.add(await dismiss(events.map(({ sequence }) => sequence)));
  }
  return tally.result;
}

/** Open runs may only be dismissed of a named handler that isn't registered: a registered one will still run them. */
function requireGone(handler: string | undefined, known: readonly string[]): void {
  if (handler === undefined) {
    throw configError('option_invalid', {
      option: 'events.dismiss(filter)',
      expected: "a filter with state: 'dead', or one with the handler that is gone",
      found: 'one with neither',
      fix: 'Open runs are dismissed of one handler at a time, which must be named.',
    });
  }
  if (known.includes(handler)) throw configError('handler_registered', { name: handler });
}
