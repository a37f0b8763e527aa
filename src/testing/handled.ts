import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { z } from 'zod';
import { configError, ringbackError } from '../errors/errors.ts';
import { runtimeTimer, systemClock } from '../kit/clock.ts';
import type { Duration } from '../kit/duration.ts';
import { checked, describe as inMessage, hasMethods, parseStrictly } from '../errors/option-problems.ts';
import { fieldsOf } from '../kit/values.ts';
import { duration } from '../receiver/option-values.ts';
import type { StoredRun, WholeInboxEvent } from '../operate/inbox-event.ts';
import { Receiver, internalsOf } from '../receiver/receiver.ts';
import type { ManualClock } from './manual-clock.ts';

/** The log events after which to look again. They are only hints: every receiver in the process reports them. */
const hints = ['run_done', 'run_dead', 'event_unhandled', 'event_incomplete'].map(
  (name) => `ringback.${name}`,
);

/** The longest time between two looks, in milliseconds: if another process settles a run, there is no hint. */
const lookAgain = 50;

/** Options of `handled`. */
export interface HandledOptions {
  /**
   * How long to wait. The default is below the usual timeout of a test, five seconds, whose error would not say why.
   * @default '3s'
   */
  readonly within?: Duration | undefined;
  /**
   * The receiver's manual clock. Once nothing runs, it is advanced to when a retry or a join is due, or the `rate` of a
   * handler lets its next attempt begin.
   * @default the clock is not advanced
   */
  readonly clock?: ManualClock | undefined;
}

const optionsSchema = z.strictObject({
  within: duration.default(3_000),
  clock: checked('a clock made by manualClock()', readManualClock).optional(),
});

/**
 * Waits until an event has been handled: each of its runs is done or a dead letter. Resolves to the event as the inbox
 * keeps it, with dead letters among its `runs`. `within` is measured by the machine's clock, whatever clock the
 * receiver has.
 *
 * @throws ConfigError for another value than a receiver, and for invalid options; RingbackError `condition_not_met`, with
 *   what the event waits for: the handlers that have not ended, and the runs that are not done, with their attempts and
 *   reasons; or that no event with this trace id has arrived
 * @example
 * await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1' }));
 * const { runs } = await handled(receiver, 'trace-1', { within: '2s' });
 * expect(runs).toEqual([]); // nothing failed; whether a handler ran is seen only by its effects
 */
export async function handled(
  receiver: Pick<Receiver, 'events'>,
  traceId: string,
  options: HandledOptions = {},
): Promise<WholeInboxEvent> {
  if (!hasMethods(fieldsOf(receiver)['events'], ['get', 'list']))
    throw configError('option_invalid', {
      option: 'handled(receiver)',
      expected: 'what createReceiver or testReceiver has returned',
      found: inMessage(receiver),
    });
  const { within, clock } = parseStrictly(optionsSchema, options, 'handled');
  const deadline = systemClock.elapsed() + within;
  for (;;) {
    const event = await receiver.events.get(traceId);
    if (event?.state === 'done') return event;
    const remaining = deadline - systemClock.elapsed();
    if (remaining <= 0) {
      const unmet = event ? await unsettled(receiver, event, clock) : await withoutEvent(receiver, traceId);
      throw ringbackError('condition_not_met', { waited: within, ...unmet });
    }
    if (clock && event) await moveOn(receiver, clock, event);
    await hintWithin(Math.min(remaining, lookAgain));
  }
}

/** What the event waits for, and what to do about it. */
async function unsettled(
  receiver: Pick<Receiver, 'events'>,
  event: WholeInboxEvent,
  clock: ManualClock | undefined,
) {
  const state = inWords(event, await receiver.events.matchingHandlers(event.traceId));
  return { state, fix: clock ? letEnd(receiver, event) : moveClock(receiver, event) };
}

/** What the event waits for. A run has no row in its first attempt: it is a matching handler without a row. */
function inWords({ state, runs }: WholeInboxEvent, matching: readonly string[]): string {
  const first =
    state === 'new' ? matching.filter((name) => !runs.some(({ handler }) => handler === name)) : [];
  const waiting = [
    ...first.map((name) => `${JSON.stringify(name)} has not ended its first attempt`),
    ...runs.filter((run) => run.state !== 'done' && run.state !== 'dead').map(describe),
  ];
  return waiting.join('; ') || 'not all of its handlers have ended, or none is registered';
}

/** The fix if the receiver has a manual clock that stands still while something waits for its time. */
function moveClock(receiver: Pick<Receiver, 'events'>, { state, runs }: WholeInboxEvent): string | undefined {
  const waitsForTurn = !isWorking(receiver) && turnOf(receiver) !== undefined;
  const waits = waitsForTurn || (state === 'open' && !runs.some((run) => run.state === 'running'));
  const hasManualClock = readManualClock(internalsIn(receiver)?.clock) !== undefined;
  return waits && hasManualClock
    ? 'Advance its clock with clock.advance(), or let handled do it: handled(…, { clock }).'
    : undefined;
}

/** The fix if `clock` is not advanced because a handler of another event runs, whose deadline would pass. */
function letEnd(receiver: Pick<Receiver, 'events'>, { state, runs }: WholeInboxEvent): string | undefined {
  const isHeldUp = state === 'open' && !runs.some((run) => run.state === 'running') && isWorking(receiver);
  return isHeldUp
    ? 'A handler of another event has not ended, and the clock does not advance until it has: let it end, or advance the clock with clock.advance().'
    : undefined;
}

/** Names the trace ids that came instead: a wrong one is the likeliest mistake, and a test has few. */
async function withoutEvent({ events }: Pick<Receiver, 'events'>, traceId: string) {
  const { events: arrived } = await events.list({ limit: 3 });
  const others = arrived.map((event) => JSON.stringify(event.traceId)).join(', ');
  const instead = others === '' ? '' : `; the latest that have arrived are ${others}`;
  const state = `no event with the trace id ${JSON.stringify(traceId)} has arrived${instead}`;
  return { state, fix: "Compare it with traceId in deliver's answer." };
}

/** A run in words. The reason may contain the messages of the handler's error: only the author of the test reads it. */
function describe({ handler, state, attempts, reason }: StoredRun): string {
  return `${JSON.stringify(handler)} ${whatOf(state, attempts)}${reason === undefined ? '' : `, reason: ${reason}`}`;
}

function whatOf(state: StoredRun['state'], attempts: number): string {
  // An attempt is counted when it ends, unless a process has died over the event, which doesn't happen in a test.
  if (state === 'running') return `has not ended attempt ${attempts + 1}`;
  const soFar = `attempts so far: ${attempts}`;
  if (state === 'blocked') return `waits for an earlier event of its call, ${soFar}`;
  return attempts === 0
    ? `waits for its first attempt (a join, for the rest of its call)`
    : `waits to be tried again, ${soFar}`;
}

function readManualClock(value: unknown): ManualClock | undefined {
  return hasMethods(value, ['now', 'elapsed', 'after', 'advance']) ? (value as ManualClock) : undefined;
}

/** When a handler that waits for its rate may go on. The inbox shows its run like one that has begun. */
function turnOf(receiver: Pick<Receiver, 'events'>): number | undefined {
  return internalsIn(receiver)?.parts.dispatcher.nextStartIn;
}

function isWorking(receiver: Pick<Receiver, 'events'>): boolean {
  return internalsIn(receiver)?.parts.registry.lanes.some((lanes) => lanes.isActive) === true;
}

function internalsIn(receiver: Pick<Receiver, 'events'>) {
  return receiver instanceof Receiver ? internalsOf(receiver) : undefined;
}

/**
 * Advances to when the next run is due. Not while a run is active, whichever event it is of: its deadline would pass
 * before it has done much.
 */
async function moveOn(
  receiver: Pick<Receiver, 'events'>,
  clock: ManualClock,
  event: WholeInboxEvent,
): Promise<void> {
  if (isWorking(receiver)) return;
  const turn = turnOf(receiver);
  if (turn !== undefined) return clock.advance(turn);
  const { events } = receiver;
  const { state, runs, callId } = event;
  if (state !== 'open') return;
  // A blocked run waits for a run of an earlier event of its call, which may wait for its retry.
  const isBlocked = runs.some((run) => run.state === 'blocked');
  const others = isBlocked ? (await events.list({ callId, state: 'open' })).events : [];
  const waiting = [event, ...others].flatMap((each) => each.runs);
  if (waiting.some((run) => run.state === 'running')) return;
  const due = waiting.filter((run) => run.state === 'due').map(({ dueAt }) => Number(dueAt));
  if (due.length > 0) clock.advance(Math.max(0, Math.min(...due) - clock.now()));
}

function hintWithin(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      for (const hint of hints) unsubscribe(hint, end);
      resolve();
    };
    const cancel = runtimeTimer(milliseconds, end);
    for (const hint of hints) subscribe(hint, end);
  });
}
