/** What is done once at the start of a receiver: its handlers are compared with the inbox, and joins look back. */
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Handler } from './handler.ts';
import type { Loop } from './in-flight.ts';
import { type Clock, pause } from '../kit/clock.ts';
import type { Sequence } from '../store/event-record.ts';
import { storePause } from '../store/timeouts.ts';

/**
 * Logs how the receiver's handlers differ from those that the inbox knows: work may then never be done, and nothing
 * else would show that.
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
  // A failure here must not fail the start: the disk may be full, or another program may hold the lock.
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

interface LookBackParts {
  readonly store: Store;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
  /** Aborted when the receiver no longer waits. */
  readonly stop: AbortSignal;
  readonly loop: Loop;
}

/**
 * Lets a join count events that arrived before this start or before it was registered, as far back as `within`. It
 * looks in small steps, so that deliveries don't wait, however many events there are.
 */
export async function lookBack({ name, join }: Handler, parts: LookBackParts): Promise<void> {
  if (!join) return;
  const { store, telemetry, clock, isStopping, stop, loop } = parts;
  const { events, within, runsAgain } = join;
  const since = clock.now() - within;
  let after: Sequence | undefined;
  while (!isStopping()) {
    try {
      after = await store.calls.lookBack({ handler: name, events, within, runsAgain, since, after });
      loop.wake();
      if (after === undefined) return;
    } catch (error) {
      telemetry.report('dispatch_failed', { cause: messageOf(error) });
      await pause(clock, storePause, stop);
    }
  }
}
