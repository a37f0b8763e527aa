import { messageOf } from '../kit/error-text.ts';
import type { Handler } from './handling.ts';
import { type Clock, pause } from '../kit/clock.ts';
import type { Sequence } from '../store/run-key.ts';
import type { Store } from '../store/store.ts';
import { storePause } from '../store/store-pause.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** What looking back needs. */
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
  const { events, within } = join;
  const since = clock.now() - within;
  let after: Sequence | undefined;
  while (!isStopping()) {
    try {
      after = await store.calls.lookBack({ handler: name, events, within, since, after });
      onLooked();
      if (after === undefined) return;
    } catch (error) {
      telemetry.report('dispatch_failed', { cause: messageOf(error) });
      await pause(clock, storePause, stop);
    }
  }
}
