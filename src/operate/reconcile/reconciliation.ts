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

interface ReconciliationParts {
  readonly calls: Pick<CallStore, 'eventsOf'>;
  /** Records an event, and dispatches it if it is new. */
  readonly record: (record: EventRecord, event: CallEvent) => Promise<'new' | 'duplicate'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** How long every handled or given-up event is kept, in milliseconds. */
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

/** The result for one event of a call. */
type Outcome = 'recorded' | 'alreadyThere' | 'notAnalysed' | 'tooOld' | 'timeUnknown';

/** What checking a call needs. */
interface Looking {
  readonly calls: ReconcileOptions['calls'];
  readonly analyses: ReconcileOptions['analyses'];
  readonly counts: Counts;
  readonly signal: AbortSignal;
}

/**
 * Records events that the platform gave up delivering, as far as its API lets them be rebuilt. They enter the inbox
 * without a signature check, because the receiver asked the platform itself and nobody sent them.
 */
export class Reconciliation {
  readonly #parts: ReconciliationParts;
  readonly #stopping = new AbortController();

  constructor(parts: ReconciliationParts) {
    this.#parts = parts;
  }

  /** Reconciles all calls that `ids` returns. */
  async reconcile(options: ReconcileOptions): Promise<Reconciled> {
    const { requireStarted, clock, kept } = this.#parts;
    requireStarted('reconcile()');
    const read = readReconcileOptions(options, { now: clock.now(), kept });
    return underSignals([this.#stopping.signal, read.signal], ({ signal }) => this.#look(read, signal));
  }

  /** Aborts all reconciliations without waiting: one may be stuck in a function of the user. Recorded events stay. */
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
        // A call that was aborted hasn't failed.
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
    // Only saves requests: the insert decides whether an event is new.
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

  /** Records an event unless it may have been handled already or hasn't happened. */
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
   * Whether the event may have been handled and removed, which nothing in the inbox would show. Removed events arrived
   * longer ago than they are kept, and no event arrives before it happens, unless the clocks differ.
   */
  #isTooOld({ at }: KnownTime): boolean {
    const { clock, kept } = this.#parts;
    return clock.now() - at > kept - clockTolerance;
  }
}

/** Asks once: a later reconciliation picks up an analysis that isn't ready. */
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

/** The ids of the calls that an analysis names. Our client unwraps the envelope `data`; other clients may not. */
function namedIn(analysis: unknown): readonly unknown[] {
  if (!isObject(analysis)) return [];
  const { data } = analysis;
  return [analysis['call_id'], isObject(data) ? data['call_id'] : undefined];
}
