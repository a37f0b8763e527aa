import { type Clock, inTime, pause } from '../../../kit/clock.ts';
import { heartbeatInterval } from '../../timeouts.ts';
import type { Session } from '../connection/session.ts';
import { toText } from '../connection/text.ts';
import { oneRow } from '../connection/transaction.ts';
import type { OwnedEvents } from './owned-events.ts';
import type { Processes } from './processes.ts';
import type { RecordQueue } from './record-queue.ts';

/** What liveness is made of. */
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
        return await this.#parts.processes.takeOver();
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

  #heartbeat(): Promise<number | undefined> {
    const { processes, owned } = this.#parts;
    return processes.heartbeat(owned.ended());
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
