import { z } from 'zod';
import { configError } from '../../errors/errors.ts';
import { givenText } from '../../errors/option-problems.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import type { EventFilter, EventStore } from '../../store/event-store.ts';
import type { Account } from '../audit.ts';
import type { BulkWork } from './bulk-work.ts';
import { requireCondition } from './replay.ts';

/** Options of `events.dismiss`. */
export interface DismissOptions {
  /** Only runs of this handler. @default the filter's `handler` or that of its `failure`, else every handler */
  readonly only?: string | undefined;
  /** Who dismisses them; kept in the reason of each run, and in the audit list. @default none */
  readonly by?: string | undefined;
  /** Why; stored in the reason of each run, and in the audit list. */
  readonly reason: string;
  /** Dismisses nothing and returns what would be dismissed. @default false */
  readonly dryRun?: boolean | undefined;
}

interface DismissalParts {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export const dismissOptionsSchema = z.strictObject({
  only: givenText.optional().describe('Only runs of this handler.'),
  by: givenText.optional(),
  reason: givenText,
  dryRun: z.boolean('true or false').default(false),
});

/** What a dismissal stores besides its filter: which handler, who and why. */
interface DismissalTerms extends Account {
  readonly only?: string | undefined;
}

/** The handlers that are registered here, and those of the living processes. */
interface KnownHandlers {
  readonly here: readonly string[];
  readonly alive: () => Promise<readonly string[]>;
}

/**
 * Refuses a dismissal of everything, and of open runs that a registered handler will still run. In another process than
 * the handler's, those of one event can be dismissed: whoever names it means to skip it, for example because it blocks
 * others.
 */
export async function requireDismissible(
  filter: EventFilter,
  { only }: DismissalTerms,
  { here, alive }: KnownHandlers,
): Promise<void> {
  requireCondition(filter, 'events.dismiss(filter)', "To dismiss every dead letter, pass { state: 'dead' }.");
  if (filter.state === 'dead') return;
  const name = namedHandler(only ?? filter.handler);
  if (here.includes(name)) throw configError('handler_registered', { name, isHere: true });
  if (filter.traceId !== undefined || !(await alive()).includes(name)) return;
  throw configError('handler_registered', { name, isHere: false });
}

/** Settles runs as done without running them: dead letters, and open runs of a handler that is gone. */
export function dismissalWork(
  { store, clock, telemetry }: DismissalParts,
  filter: EventFilter,
  { only, by, reason: why }: DismissalTerms,
): BulkWork {
  const kinds = {
    handler: only ?? filter.handler,
    takesDead: filter.state !== 'open',
    takesWaiting: filter.state !== 'dead',
  };
  const reason = `dismissed${by === undefined ? '' : ` by ${by}`}: ${why}`;
  return {
    filter,
    rate: undefined,
    onWritten: () => {},
    onDone: ({ events, runs, handlers }) =>
      telemetry.report('runs_dismissed', { events, runs, handlers: Object.keys(handlers) }),
    async stepOf(events) {
      if (events.length === 0) return undefined;
      const which = { ...kinds, sequences: events.map(({ sequence }) => sequence) };
      return {
        preview: () => store.wouldDismiss(which),
        write: (step) => store.dismiss({ ...which, reason, now: clock.now(), step }),
      };
    },
  };
}

function namedHandler(handler: string | undefined): string {
  if (handler !== undefined) return handler;
  throw configError('option_invalid', {
    option: 'events.dismiss(filter)',
    expected: "a filter with state: 'dead', or one with the handler that was removed",
    found: 'one with neither',
    fix: 'Open runs can be dismissed for one handler at a time, which must be named.',
  });
}
