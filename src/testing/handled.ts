import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { clearTimeout, setTimeout } from 'node:timers';
import { configError, ringbackError } from '../errors.ts';
import { systemClock } from '../kit/clock.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';
import type { Receiver } from '../receiver.ts';
import type { EventState } from '../store/event-store.ts';

/** What makes it worth looking again. They come from every receiver in the process, so they are no more than a hint. */
const hints = ['run_done', 'run_dead', 'event_unhandled'].map((name) => `ringback.${name}`);

/** Another process may have settled the last run, and that gives no hint here. Milliseconds. */
const lookAgain = 50;

const inWords: Record<EventState | 'missing', string> = {
  missing: 'no event with that trace id has arrived',
  new: 'not all of its handlers have ended',
  open: 'a run of it waits to be tried again',
  done: 'it is done',
};

/**
 * Waits until an event has been handled: every one of its runs is done or a dead letter. Time is the machine's,
 * whatever clock the receiver has.
 *
 * @throws RingbackError `condition_not_met`, which says what the event waits for
 * @example
 * await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1' }));
 * await handled(receiver, 'trace-1', { within: '2s' });
 */
export async function handled(
  receiver: Pick<Receiver, 'events'>,
  traceId: string,
  { within = '5s' }: { readonly within?: Duration } = {},
): Promise<void> {
  const deadline = systemClock.elapsed() + millisecondsOf(within);
  for (;;) {
    const state = (await receiver.events.get(traceId))?.state;
    if (state === 'done') return;
    const remaining = deadline - systemClock.elapsed();
    if (remaining <= 0) {
      throw ringbackError('condition_not_met', {
        waited: typeof within === 'number' ? `${within} ms` : within,
        state: inWords[state ?? 'missing'],
      });
    }
    await hintWithin(Math.min(remaining, lookAgain));
  }
}

function millisecondsOf(within: Duration): number {
  const milliseconds = parseDuration(within);
  if (milliseconds !== undefined) return milliseconds;
  const expected = "milliseconds or a duration such as '2s'";
  throw configError('option_invalid', { option: 'within', expected, found: JSON.stringify(within) });
}

function hintWithin(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const hint of hints) unsubscribe(hint, end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    for (const hint of hints) subscribe(hint, end);
  });
}
