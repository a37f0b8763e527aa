/** What is done once when a receiver starts: how its handlers fit the inbox, and what its joins have missed. */
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Handler } from './handler.ts';
import { type Clock, pause } from '../kit/clock.ts';
import type { Sequence } from '../store/event-record.ts';
import { storePause } from '../store/timeouts.ts';

/**
 * Logs, when a receiver starts, how its handlers don't fit its inbox: work may then never be done, and nothing else
 * shows that.
 */
export async function reportHandlers(
  store: Store,
  telemetry: Telemetry,
  names: ReadonlySet<string>,
): Promise<void> {
  for (const handler of await store.waitingHandlers()) {
    if (!names.has(handler)) telemetry.report('handler_missing', { handler });
  }
  // A process without handlers claims nothing, so it takes no work from others.
  if (names.size === 0) return telemetry.report('no_handlers');
  // No start fails for a line in the log: on a full disk, for example, or while another program holds the lock.
  const others = await store.announce([...names]).catch(() => []);
  reportDifference(telemetry, names, others);
}

function reportDifference(
  telemetry: Telemetry,
  names: ReadonlySet<string>,
  others: readonly (readonly string[])[],
): void {
  const handlers = [...names].filter((name) => others.some((other) => !other.includes(name)));
  const elsewhere = [...new Set(others.flat())].filter((name) => !names.has(name));
  if (handlers.length + elsewhere.length > 0) telemetry.report('handlers_differ', { handlers, elsewhere });
}

export interface LookBackParts {
  readonly store: Store;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
  /** Aborted when the receiver no longer waits. */
  readonly stop: AbortSignal;
  /** Called when there may be something to run. */
  readonly onLooked: () => void;
}

/**
 * Makes a join count the events that arrived before this start or before it was registered, as far back as `within`.
 * It looks in small steps, so that deliveries don't wait however many events there are.
 */
export async function lookBack({ name, join }: Handler, parts: LookBackParts): Promise<void> {
  if (!join) return;
  const { store, telemetry, clock, isStopping, stop, onLooked } = parts;
  const { events, within, runsAgain } = join;
  const since = clock.now() - within;
  let after: Sequence | undefined;
  while (!isStopping()) {
    try {
      after = await store.calls.lookBack({ handler: name, events, within, runsAgain, since, after });
      onLooked();
      if (after === undefined) return;
    } catch (error) {
      telemetry.report('dispatch_failed', { cause: messageOf(error) });
      await pause(clock, storePause, stop);
    }
  }
}
