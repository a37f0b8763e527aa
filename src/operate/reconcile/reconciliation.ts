import { causeOf } from '../../dispatch/outcomes.ts';
import { ringbackError } from '../../errors/errors.ts';
import { eventNames } from '../../events/names.ts';
import { type ReconcilableName, reconcilableNames } from '../../events/reconciled.ts';
import type { CallEvent } from '../../events/model.ts';
import { eachAtOnce } from '../../kit/at-once.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import type { CallStore } from '../../store/call-store.ts';
import type { EventRecord } from '../../store/event-record.ts';
import { type KnownCall, knownCallOf, lastTimeOf, rebuiltEvent } from './rebuilt-event.ts';
import {
  type Reconciled,
  type ReconcileOptions,
  readCallToReconcile,
  readReconcileOptions,
} from './reconcile-options.ts';

/** What a reconciliation works with. */
export interface ReconciliationParts {
  readonly calls: Pick<CallStore, 'eventsOf'>;
  /** Records an event, and has it handled if it is new. */
  readonly record: (record: EventRecord, event: CallEvent) => Promise<'new' | 'duplicate'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** For how long events that were handled are kept, in milliseconds. */
  readonly kept: number;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/** How many calls are read at once. */
const maxAtOnce = 4;
/** How many failures are returned and logged. */
const maxFailures = 100;

type Counts = { -readonly [Name in keyof Omit<Reconciled, 'failures'>]: number };
type Readers = Pick<ReturnType<typeof readReconcileOptions>, 'calls' | 'analyses'>;

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
    this.#stopping.signal.throwIfAborted();
    return this.#look(read);
  }

  /** Ends what goes on, and waits for nothing: it may be in a function of the user. What was recorded stays. */
  stop(): void {
    this.#stopping.abort(ringbackError('receiver_not_started', { method: 'reconcile()' }));
  }

  async #look({
    ids,
    since,
    signal,
    ...readers
  }: ReturnType<typeof readReconcileOptions>): Promise<Reconciled> {
    const { telemetry } = this.#parts;
    const stopping = this.#stopping.signal;
    const counts: Counts = {
      calls: 0,
      recorded: 0,
      alreadyThere: 0,
      notEnded: 0,
      notAnalysed: 0,
      tooOld: 0,
      failed: 0,
    };
    const failures: { callId: string; error: unknown }[] = [];
    const limits = { max: maxAtOnce, signal: signal ? AbortSignal.any([signal, stopping]) : stopping };
    await eachAtOnce(await ids(since), limits, async (given, ending) => {
      const call = readCallToReconcile(given);
      counts.calls += 1;
      try {
        await this.#lookAt(call, { ...readers, signal: ending }, counts);
      } catch (error) {
        // What goes on when it is ended has not failed by itself.
        ending.throwIfAborted();
        counts.failed += 1;
        if (failures.length >= maxFailures) return;
        failures.push({ callId: call.callId, error });
        telemetry.report('call_not_reconciled', { callId: call.callId, cause: causeOf(error) });
      }
    });
    telemetry.report('calls_reconciled', { since: since.toISOString(), ...counts });
    return { ...counts, failures };
  }

  async #lookAt(
    given: ReturnType<typeof readCallToReconcile>,
    { calls, analyses, signal }: Readers & { readonly signal: AbortSignal },
    counts: Counts,
  ): Promise<void> {
    const { callId } = given;
    // Saves requests only: whether an event is there is decided as it is written.
    const here = new Set((await this.#parts.calls.eventsOf(callId)).map(({ eventName }) => eventName));
    if (reconcilableNames.every((name) => here.has(name))) {
      counts.alreadyThere += reconcilableNames.length;
      return;
    }
    const call = knownCallOf(given, await calls.get(callId, { signal }));
    if (this.#isTooOld(call)) {
      counts.tooOld += 1;
      return;
    }
    const add = async (eventName: ReconcilableName): Promise<void> => {
      signal.throwIfAborted();
      const isNew = !here.has(eventName) && (await this.#record(eventName, call)) === 'new';
      counts[isNew ? 'recorded' : 'alreadyThere'] += 1;
    };
    if (call.hasStarted) await add(eventNames.callStarted);
    if (call.hasEnded) await add(eventNames.callEnded);
    else counts.notEnded += 1;
    if (!call.hasEnded) return;
    const isAnalysed = here.has(eventNames.pcaCompleted) || (await isReady(call, analyses, signal));
    if (isAnalysed) await add(eventNames.pcaCompleted);
    else counts.notAnalysed += 1;
  }

  /** Its events may have been handled and removed since, and nothing in the inbox would show that. */
  #isTooOld(call: KnownCall): boolean {
    const { clock, kept } = this.#parts;
    const last = lastTimeOf(call);
    return call.hasEnded && last !== undefined && clock.now() - last > kept;
  }

  #record(eventName: ReconcilableName, call: KnownCall): Promise<'new' | 'duplicate'> {
    const { record, event } = rebuiltEvent(eventName, call, this.#parts.clock.now());
    return this.#parts.record(record, event);
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
    await analyses.get(agentId, callId, { signal, timeout: 0 });
    return true;
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code === 'not_ready') return false;
    throw error;
  }
}
