import { causeOf } from '../../dispatch/outcomes.ts';
import { ringbackError } from '../../errors/errors.ts';
import { isObject } from '../../kit/values.ts';
import { eventNames } from '../../events/names.ts';
import { type ReconcilableName, reconcilableNames } from '../../events/reconciled.ts';
import type { CallEvent } from '../../events/model.ts';
import { underSignals, unlessAborted } from '../../kit/aborting.ts';
import { eachAtOnce } from './at-once.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import type { CallStore } from '../../store/call-store.ts';
import type { EventRecord } from '../../store/event-record.ts';
import {
  clockTolerance,
  type KnownCall,
  type KnownTime,
  knownCallOf,
  requireSameCall,
} from './known-call.ts';
import { eventsOf, rebuiltEvent, timeBefore } from './rebuilt-event.ts';
import {
  type Reconciled,
  type ReconcileOptions,
  givenId,
  readCallToReconcile,
  readCallsToReconcile,
  readReconcileOptions,
} from './reconcile-options.ts';

export interface ReconciliationParts {
  readonly calls: Pick<CallStore, 'eventsOf'>;
  /** Records an event, and has it handled if it is new. */
  readonly record: (record: EventRecord, event: CallEvent) => Promise<'new' | 'duplicate'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** For how long every event is kept that was handled or given up, in milliseconds. */
  readonly kept: number;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/** How many calls are read at once. */
const maxAtOnce = 4;
/** How many failures are returned and logged. */
const maxFailures = 100;

type Counts = { -readonly [Name in keyof Omit<Reconciled, 'failures'>]: number };
type ResolvedOptions = ReturnType<typeof readReconcileOptions>;

/** What becomes of an event that is not known to be missing. */
type Outcome = 'recorded' | 'alreadyThere' | 'notAnalysed' | 'tooOld' | 'timeUnknown';

/** How a call is looked at. */
interface Looking {
  readonly calls: ReconcileOptions['calls'];
  readonly analyses: ReconcileOptions['analyses'];
  readonly counts: Counts;
  readonly signal: AbortSignal;
}

/**
 * Records what the platform gave up on, as far as it can be rebuilt from what the platform says of its calls. It has a way of
 * its own into the inbox, with no signature to check: the platform was asked, and nobody has sent it.
 */
export class Reconciliation {
  readonly #parts: ReconciliationParts;
  readonly #stopping = new AbortController();

  constructor(parts: ReconciliationParts) {
    this.#parts = parts;
  }

  /** Looks at all calls that it is given. */
  async reconcile(options: ReconcileOptions): Promise<Reconciled> {
    const { requireStarted, clock, kept } = this.#parts;
    requireStarted('reconcile()');
    const read = readReconcileOptions(options, { now: clock.now(), kept });
    return underSignals([this.#stopping.signal, read.signal], ({ signal }) => this.#look(read, signal));
  }

  /** Ends what goes on, and waits for nothing: it may be in a function of the user. What was recorded stays. */
  stop(): void {
    this.#stopping.abort(ringbackError('receiver_not_started', { method: 'reconcile()' }));
  }

  async #look({ ids, since, ...readers }: ResolvedOptions, signal: AbortSignal): Promise<Reconciled> {
    const { telemetry } = this.#parts;
    const counts: Counts = {
      calls: 0,
      recorded: 0,
      alreadyThere: 0,
      notEnded: 0,
      notAnalysed: 0,
      tooOld: 0,
      timeUnknown: 0,
      failed: 0,
    };
    const failures: { callId: string; error: unknown }[] = [];
    const items = readCallsToReconcile(await unlessAborted(signal, () => ids(since)));
    await eachAtOnce(items, { max: maxAtOnce, signal }, async (given, ending) => {
      counts.calls += 1;
      try {
        await this.#lookAt(readCallToReconcile(given), { ...readers, counts, signal: ending });
      } catch (error) {
        // What goes on when it is ended has not failed by itself.
        ending.throwIfAborted();
        counts.failed += 1;
        if (failures.length >= maxFailures) return;
        const callId = givenId(given);
        failures.push({ callId, error });
        telemetry.report('call_not_reconciled', { callId, cause: causeOf(error) });
      }
    });
    telemetry.report('calls_reconciled', { since: since.toISOString(), ...counts });
    return { ...counts, failures };
  }

  async #lookAt(given: ReturnType<typeof readCallToReconcile>, looking: Looking): Promise<void> {
    const { calls, counts, signal } = looking;
    const { callId } = given;
    // Saves requests only: whether an event is there is decided as it is written.
    const here = new Set((await this.#parts.calls.eventsOf(callId)).map(({ eventName }) => eventName));
    if (reconcilableNames.every((name) => here.has(name))) {
      counts.alreadyThere += reconcilableNames.length;
      return;
    }
    const answer = await unlessAborted(signal, () => calls.get(callId, { signal }));
    const call = knownCallOf(given, answer, this.#parts.clock.now());
    if (!call.hasEnded) counts.notEnded += 1;
    for (const eventName of eventsOf(call)) {
      const outcome = here.has(eventName) ? 'alreadyThere' : await this.#add(eventName, call, looking);
      counts[outcome] += 1;
    }
  }

  /** Records an event, unless it may have been handled, or hasn't happened. */
  async #add(eventName: ReconcilableName, call: KnownCall, { analyses, signal }: Looking): Promise<Outcome> {
    const time = timeBefore(eventName, call);
    if (time === undefined) return 'timeUnknown';
    if (this.#isTooOld(time)) return 'tooOld';
    if (eventName === eventNames.pcaCompleted && !(await isReady(call, analyses, signal)))
      return 'notAnalysed';
    signal.throwIfAborted();
    const { record, event } = rebuiltEvent(eventName, call, this.#parts.clock.now());
    return (await this.#parts.record(record, event)) === 'new' ? 'recorded' : 'alreadyThere';
  }

  /**
   * The event may have been handled and removed since, and nothing in the inbox would show that. What is removed came longer
   * ago than it is kept, and nothing comes before it has happened, unless the clocks differ.
   */
  #isTooOld({ at }: KnownTime): boolean {
    const { clock, kept } = this.#parts;
    return clock.now() - at > kept - clockTolerance;
  }
}

/** Asks once: whoever waits for an analysis runs the reconciliation again. */
async function isReady(
  { callId, agentId }: KnownCall,
  analyses: ReconcileOptions['analyses'],
  signal: AbortSignal,
): Promise<boolean> {
  if (agentId === undefined) throw ringbackError('agent_unknown', { callId });
  try {
    const answer = await unlessAborted(signal, () => analyses.get(agentId, callId, { signal, timeout: 0 }));
    requireSameCall('analyses.get()', callId, namedIn(answer));
    return true;
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code === 'not_ready') return false;
    throw error;
  }
}

/** The calls that an analysis says it is about: the client takes it out of its envelope, `data`, and others may not. */
function namedIn(analysis: unknown): readonly unknown[] {
  if (!isObject(analysis)) return [];
  const { data } = analysis;
  return [analysis['call_id'], isObject(data) ? data['call_id'] : undefined];
}
