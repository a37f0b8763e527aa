import { type Clock, inTime, pause } from '../../../kit/clock.ts';
import { heartbeatInterval } from '../../timeouts.ts';
import type { Session } from '../connection/session.ts';
import { toText } from '../connection/text.ts';
import { oneRow } from '../connection/transaction.ts';
import type { OwnedEvents } from './owned-events.ts';
import { type Processes, deadAfter } from './processes.ts';
import type { RecordQueue } from './record-queue.ts';

/** After how long without a heartbeat a process counts as silent itself, in milliseconds: one was missed. */
const silentAfter = 2 * heartbeatInterval;

export interface LivenessParts {
  readonly session: Session;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly owned: OwnedEvents;
  readonly queue: Pick<RecordQueue, 'alone'>;
  /** Resolves when the claim of events that is in flight has been answered. */
  readonly claimed: () => Promise<unknown>;
}

/** Says that this process lives, takes over what dead ones had claimed, and looks for work that others have left. */
export class Liveness {
  readonly #parts: LivenessParts;
  readonly #subscribers = new Set<() => void>();
  #handlers: readonly string[] | undefined;
  /** When the first run was due, at the last look. */
  #firstDueAt: number | null = null;
  /** When this process had its last heartbeat, by its own clock that never jumps. */
  #heartbeatAt: number | undefined;
  /** From when on others may be taken for dead, by the same clock. */
  #judgesFrom = 0;

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
        return await this.#parts.processes.takeOver({ onlyLeaving: !this.#mayJudge });
      } finally {
        await this.#announceWork();
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
    const { processes, owned, clock } = this.#parts;
    const last = await processes.heartbeat(owned.ended());
    const now = clock.elapsed();
    if (this.#heartbeatAt !== undefined && now - this.#heartbeatAt > silentAfter)
      this.#judgesFrom = now + deadAfter * 1_000;
    this.#heartbeatAt = now;
    return last;
  }

  /**
   * Whether others may be taken for dead. Whoever was silent may not at once: while the database is away, or no commit ends,
   * all are silent, and the first that is back would take over what the others work on.
   */
  get #mayJudge(): boolean {
    return this.#parts.clock.elapsed() >= this.#judgesFrom;
  }

  async #enterAnew(): Promise<void> {
    const { processes, owned } = this.#parts;
    const former = processes.id;
    await processes.enter(this.#handlers);
    // Whatever it still settles of what it had claimed is lost.
    owned.clear();
    // If it is still there, it is taken over next.
    await processes.markLeaving(former);
  }

  /** Recovers, unless a claim waits for the database longer than others should wait for this process to take over. */
  async #recover(): Promise<void> {
    const { owned, queue, claimed, clock } = this.#parts;
    if (!owned.isUncertain) return;
    const late = () => new Error('a claim is in flight');
    const mayRecover = await inTime(clock, heartbeatInterval, claimed(), late).then(
      () => true,
      () => false,
    );
    if (mayRecover) await queue.alone(() => owned.recover());
  }

  async #announceWork(): Promise<void> {
    if (await this.#lookForWork()) for (const onWork of this.#subscribers) onWork();
  }

  /** Heartbeats while something is done that may wait for others longer than a process may be silent. */
  async #withHeartbeats<T>(act: () => Promise<T>): Promise<T> {
    const { clock } = this.#parts;
    const over = new AbortController();
    const result = act().finally(() => over.abort());
    const isOver = result.then(
      () => true,
      () => true,
    );
    const isDue = () => pause(clock, heartbeatInterval, over.signal).then(() => over.signal.aborted);
    while (!(await Promise.race([isOver, isDue()])))
      // Should it fail, the next one tells.
      await this.#heartbeat().catch(() => {});
    return result;
  }

  /** Whether events wait, or a run is due, or the first that will be is another than before. */
  async #lookForWork(): Promise<boolean> {
    const { waits, due_at: dueAt } = await oneRow<{ waits: boolean; due_at: number | null }>(
      this.#parts.session.heartbeats,
      `select exists (select from ringback.waiting) as waits, (
         select min(r.due_at) from unnest($1::text[]) as h (name), lateral (
           select due_at from ringback.runs where handler = h.name and state = 'due' order by due_at limit 1) r) as due_at`,
      [(this.#handlers ?? []).map(toText)],
    );
    const isAnother = dueAt !== this.#firstDueAt;
    this.#firstDueAt = dueAt;
    return waits || (dueAt !== null && (isAnother || dueAt <= this.#parts.clock.now()));
  }
}
