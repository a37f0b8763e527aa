import type { Logger } from 'pino';
import { joinedCall } from '../calls/joined-call.ts';
import { callRecordOf } from '../calls/timeline.ts';
import { backoffAfter } from '../kit/backoff.ts';
import { EventLoopShare } from '../kit/event-loop-share.ts';
import type { Random } from '../kit/clock.ts';
import type { JoinTerms, JoinedCall, Outcome, OwnEvent, Run, UserDatabase } from './handling.ts';
import type { CallEvent } from '../events/model.ts';
import { mayBePoison } from '../store/claims.ts';
import type { RunState } from '../store/store.ts';
import type { Claim } from './held.ts';
import { type Conclusion, conclude, concludedBefore, unreadable } from './conclude.ts';
import { type Work, workOn } from './context.ts';
import { outcomeOf, runAttempt } from './run.ts';
import { report, reportAfterCommit, reportBlocking, reportFailedCommit } from './run-log.ts';
import type { Settler, SettlerParts } from './settler.ts';

/** A run and the claim on its event. A run that was stored is claimed by itself, without its event. */
export interface ClaimedWork {
  readonly run: Run;
  readonly claim: Claim | undefined;
}

/** What executing a run needs. */
export interface ExecutionParts extends SettlerParts {
  readonly logger: Logger;
  readonly random: Random;
}

/**
 * For how long handlers are called in one turn of the event loop, in milliseconds. Handlers that compute would otherwise
 * be called one after the other, and no delivery would be answered until all of them are done.
 */
const share = { ofTurn: 10 };
/** What is called as an attempt goes on. */
export interface AttemptSteps {
  /** The handler has been called. */
  readonly onCalled: () => void;
  /** The handler has ended. */
  readonly onConcluded: () => void;
}

/** How an attempt ended, and the run as it was tried: one that was counted has a row. */
interface Ended {
  readonly run: Run;
  readonly conclusion: Conclusion;
  readonly isSettled: boolean;
}

/** What the user's function is called with. */
type Subject = CallEvent | JoinedCall;

/** Takes one run through an attempt: run → settle, and a line in the log. */
export class Execution {
  readonly #parts: ExecutionParts;
  readonly #settler: Settler;
  readonly #share: EventLoopShare;

  constructor(parts: ExecutionParts, settler: Settler) {
    this.#parts = parts;
    this.#settler = settler;
    this.#share = new EventLoopShare(parts.clock, share);
  }

  /**
   * Resolves to the state in which the run is left, or undefined when the run was lost. Rejects only when the inbox
   * could not be written before the receiver stopped; the claim is then given back, and the run is run again.
   */
  async attempt(work: ClaimedWork, { onCalled, onConcluded }: AttemptSteps): Promise<RunState | undefined> {
    const { clock, telemetry } = this.#parts;
    const startedAt = clock.elapsed();
    const over = concludedBefore(work.run);
    const ended = over ? unsettled(work.run, over) : await this.#try(work, onCalled);
    onConcluded();
    if (!ended) return this.#lost(work.run);
    const { run, conclusion, isSettled } = ended;
    if (!isSettled && (await this.#settler.settle(run, work.claim, conclusion)) === 'lost')
      return this.#lost(run);
    report(telemetry, run, conclusion, clock.elapsed() - startedAt);
    return conclusion.state;
  }

  #try(work: ClaimedWork, onCalled: () => void): Promise<Ended | undefined> {
    return mayBePoison(work.run) ? this.#tryCounted(work, onCalled) : this.#tryUncounted(work);
  }

  /**
   * Most attempts are counted when they end. If the process dies in one, nobody knows whose fault it was, and a run that
   * waited for its turn must not lose its only attempt by that.
   */
  async #tryUncounted({ run, claim }: ClaimedWork): Promise<Ended> {
    const subject = await this.#subjectOf(run);
    if (!isSubject(subject)) return this.#withoutCall(run, subject);
    const later = this.#share.place(run.handler.name);
    if (later) await later;
    return this.#call({ run, claim }, subject);
  }

  /**
   * Once a process has died over the event, what kills the next one is known before it does so: first that the event is
   * read, then that the attempt is made. Nothing is waited for between its being counted and the call.
   */
  async #tryCounted({ run, claim }: ClaimedWork, onCalled: () => void): Promise<Ended | undefined> {
    const { sequence, callId, stored } = run;
    const handler = run.handler.name;
    const held = { sequence, handler: stored ? handler : undefined };
    const read = await this.#settler.readNoted(held, () => this.#subjectOf(run));
    if (!read) return undefined;
    const subject = read.value;
    if (!isSubject(subject)) return this.#withoutCall(run, subject);
    const key = { sequence, callId, handler, stored };
    const attempts = await this.#settler.persist(() => this.#parts.store.begin(key));
    if (attempts === undefined) return undefined;
    return this.#call({ run: { ...run, stored: true, attempts: attempts - 1 }, claim }, subject, onCalled);
  }

  /** What the run's function is called with, undefined if it need not be called. */
  #subjectOf(run: Run): OwnEvent | Promise<OwnEvent | Subject | undefined> {
    return run.handler.join ? this.#callOf(run, run.handler.join) : run.event();
  }

  #withoutCall(run: Run, subject: Exclude<OwnEvent, CallEvent> | undefined): Ended {
    const conclusion = subject
      ? unreadable(subject.unreadable, run.attempts)
      : conclude(run, { kind: 'done' }, this.#parts.clock.now());
    return unsettled(run, conclusion);
  }

  async #call({ run, claim }: ClaimedWork, subject: Subject, onCalled?: () => void): Promise<Ended> {
    const { stop, clock, telemetry } = this.#parts;
    const backoff = () => backoffAfter(run.attempts + 1, run.handler.retry, this.#parts.random);
    const onRefused = (error: unknown) => reportFailedCommit(telemetry, run, outcomeOf(error, backoff));
    const { context, ended } = this.#workOn(run, claim, onRefused);
    const attempt = { run, subject, context, stop, clock, backoff };
    const called = this.#timed(run, () => runAttempt(attempt));
    onCalled?.();
    const outcome = await called;
    const commit = await ended();
    if (commit === 'committed') {
      if (outcome.kind !== 'done') reportAfterCommit(telemetry, run, outcome);
      return { run, conclusion: conclude(run, { kind: 'done' }, clock.now()), isSettled: true };
    }
    const failure = commit === 'nothing' ? undefined : outcomeOf(commit.failed, backoff);
    const real = outcome.kind === 'done' ? (failure ?? outcome) : outcome;
    // A handler that fails by itself hides that its commit, which it didn't await, has failed as well.
    if (failure && reasonIn(failure) !== reasonIn(real)) reportFailedCommit(telemetry, run, failure);
    return unsettled(run, conclude(run, real, clock.now()));
  }

  /** What a join is called with; undefined when an earlier run of the join has seen all events that have arrived. */
  async #callOf(
    { handler, event, callId }: Run,
    join: JoinTerms,
  ): Promise<OwnEvent | JoinedCall | undefined> {
    if (callId === undefined) return event();
    const view = await this.#settler.persist(() =>
      this.#parts.store.calls.see(handler.name, callId, join.events),
    );
    return view.isSettled ? undefined : joinedCall(callRecordOf(callId, view.events), join);
  }

  #workOn(run: Run, claim: Claim | undefined, onRefused: (error: unknown) => void): Work {
    const { logger, store } = this.#parts;
    const { callId } = run;
    const callSoFar = async () => {
      const events = callId === undefined ? [] : await store.calls.eventsOf(callId);
      // A call that was erased meanwhile has no events either.
      return callId === undefined || events.length === 0 ? undefined : callRecordOf(callId, events);
    };
    const settleWith = (effects: (database: UserDatabase) => void) =>
      this.#settler.settleWith(run, claim, (database) => this.#timed(run, () => effects(database)));
    return workOn({ run, attempt: run.attempts + 1, logger, callSoFar, settleWith, onRefused });
  }

  /** Calls the user's code, and reports how long it kept the event loop to itself. */
  #timed<T>(run: Run, call: () => T): T {
    const { clock, telemetry } = this.#parts;
    const calledAt = clock.elapsed();
    try {
      return call();
    } finally {
      reportBlocking(telemetry, run, clock.elapsed() - calledAt);
    }
  }

  #lost(run: Run): undefined {
    this.#parts.telemetry.report('run_lost', { traceId: run.traceId, handler: run.handler.name });
  }
}

function unsettled(run: Run, conclusion: Conclusion): Ended {
  return { run, conclusion, isSettled: false };
}

function isSubject(subject: OwnEvent | Subject | undefined): subject is Subject {
  return subject !== undefined && !('unreadable' in subject);
}

function reasonIn(outcome: Outcome): string | undefined {
  return outcome.kind === 'done' ? undefined : outcome.reason;
}
