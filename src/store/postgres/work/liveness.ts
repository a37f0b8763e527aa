import { inTime, pause } from '../../../kit/clock.ts';
import { heartbeatInterval } from '../../timeouts.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import type { OwnedEvents } from './owned-events.ts';
import { type Processes, deadAfter } from './processes.ts';
import type { RecordQueue } from './record-queue.ts';

/** How long this process may be without a heartbeat before it doubts its own view, in milliseconds: one missed. */
const maxHeartbeatGap = 2 * heartbeatInterval;

/** After how many looks for work `ended` is cleared: about once a minute. */
const clearedEvery = 30;

interface LivenessParts {
  readonly session: Session;
  readonly processes: Processes;
  readonly owned: OwnedEvents;
  readonly queue: Pick<RecordQueue, 'alone'>;
  /** Resolves when the claim of events in flight has been answered. */
  readonly claimed: () => Promise<unknown>;
}

/** Writes this process's heartbeats, takes over from dead processes, and looks for work that others have stored. */
export class Liveness {
  readonly #parts: LivenessParts;
  readonly #subscribers = new Set<() => void>();
  #handlers: readonly string[] | undefined;
  /** The due time of the first run that waited, at the last look. */
  #firstDueAt: number | null = null;
  /** When this process wrote its last heartbeat, by its monotonic clock. */
  #heartbeatAt: number | undefined;
  #looks = 0;
  /** From when on this process may take others for dead, by the same clock. */
  #takesOverFrom = 0;

  constructor(parts: LivenessParts) {
    this.#parts = parts;
  }

  /** Resolves to how many claims were taken over. */
  async keepAlive(): Promise<number> {
    const { owned, queue } = this.#parts;
    const last = await this.#heartbeat();
    if (last !== undefined) owned.noteGiven(last);
    else await queue.alone(() => this.#enterAnew());
    return this.#withHeartbeats(async () => {
      await this.#recover();
      try {
        return await this.#parts.processes.takeOver({ onlyLeaving: !this.#mayTakeOver });
      } finally {
        await this.#announceWork();
        await this.#clearEnded();
      }
    });
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    this.#handlers = handlers;
    return this.#parts.processes.announce(handlers);
  }

  subscribe(onWork: () => void): () => void {
    this.#subscribers.add(onWork);
    return () => void this.#subscribers.delete(onWork);
  }

  async #heartbeat(): Promise<number | undefined> {
    const { processes, owned, session } = this.#parts;
    const last = await processes.heartbeat(owned.ended());
    const now = session.clock.elapsed();
    if (this.#heartbeatAt !== undefined && now - this.#heartbeatAt > maxHeartbeatGap)
      this.#takesOverFrom = now + deadAfter * 1_000;
    this.#heartbeatAt = now;
    return last;
  }

  /**
   * Whether this process may take others for dead. Not soon after it missed a heartbeat itself: while the database is
   * away, or no commit ends, all miss theirs, and the first one back would take over what the others work on.
   */
  get #mayTakeOver(): boolean {
    return this.#parts.session.clock.elapsed() >= this.#takesOverFrom;
  }

  async #enterAnew(): Promise<void> {
    const { processes, owned } = this.#parts;
    const former = processes.id;
    await processes.enter(this.#handlers);
    // What this process still settles of its former claims is lost.
    owned.clear();
    // If the former row is still there, it is taken over next.
    await processes.markLeaving(former);
  }

  /** Recovers, unless the claim in flight takes so long that the takeover would be delayed too much. */
  async #recover(): Promise<void> {
    const { owned, queue, claimed, session } = this.#parts;
    if (!owned.isUncertain) return;
    const late = () => new Error('a claim is in flight');
    const mayRecover = await inTime(session.clock, heartbeatInterval, claimed(), late).then(
      () => true,
      () => false,
    );
    if (mayRecover) await queue.alone(() => owned.recover());
  }

  async #announceWork(): Promise<void> {
    if (await this.#lookForWork()) for (const onWork of this.#subscribers) onWork();
  }

  async #clearEnded(): Promise<void> {
    this.#looks += 1;
    if (this.#looks % clearedEvery !== 0) return;
    // What was taken over is reported even if this fails, and the next pass removes the rest.
    await this.#parts.processes.clearEnded().catch(() => {});
  }

  /** Writes heartbeats while `act` runs, which may wait for others longer than a process may be without one. */
  async #withHeartbeats<T>(act: () => Promise<T>): Promise<T> {
    const { clock } = this.#parts.session;
    const over = new AbortController();
    const result = act().finally(() => over.abort());
    const isOver = result.then(
      () => true,
      () => true,
    );
    const isDue = () => pause(clock, heartbeatInterval, over.signal).then(() => over.signal.aborted);
    while (!(await Promise.race([isOver, isDue()])))
      // If it fails, the next one shows that.
      await this.#heartbeat().catch(() => {});
    return result;
  }

  /** Whether events wait, a run is due, or the time of the next due run has changed. */
  async #lookForWork(): Promise<boolean> {
    const { waits, due_at: dueAt } = await oneRow<{ waits: boolean; due_at: number | null }>(
      this.#parts.session.heartbeats,
      `select exists (select from ringback.waiting) as waits, (
         select min(r.due_at) from unnest($1::text[]) as h (name), lateral (
           select due_at from ringback.runs where handler = h.name and state = 'due' order by due_at limit 1) r) as due_at`,
      [this.#handlers ?? []],
    );
    const isAnother = dueAt !== this.#firstDueAt;
    this.#firstDueAt = dueAt;
    return waits || (dueAt !== null && (isAnother || dueAt <= this.#parts.session.clock.now()));
  }
}
