import type { PoolClient } from 'pg';
import type { ClaimedEvent, ClaimedRun, Settled } from '../../claims.ts';
import type { Sequence } from '../../event-record.ts';
import { claimToRead, runEndRow, runToWrite } from '../../shared/run-to-write.ts';
import { claimOnEvent, onlyEndsClaim } from '../../shared/claimed-work.ts';
import type { RunEnd } from '../../store.ts';
import type { Session } from '../connection/session.ts';
import type { TransactionOptions, UserTransaction } from '../connection/transaction.ts';
import { withUserClient } from '../connection/user-database.ts';
import type { ClaimEnds } from './claim-ends.ts';
import { holdsEvent, holdsRun } from './holding.ts';
import type { JoinArrival } from '../../shared/join-progress.ts';
import { arrive } from './joins.ts';
import type { OwnedEvents } from './owned-events.ts';
import { countAttempt, requeue, settle } from './settle.ts';
import { unblockSome } from './unblock.ts';

interface SettlingParts {
  readonly session: Session;
  readonly owned: OwnedEvents;
  readonly ends: ClaimEnds;
  /** Resolves when the claims and recordings in flight have been answered. */
  readonly answered: () => Promise<unknown>;
}

/**
 * Writes about the events and runs that this process has claimed. `isLast`: the claim on the event ends with the write.
 */
export class Settling {
  readonly #parts: SettlingParts;
  readonly #requeueOrder = new RequeueOrder();

  constructor(parts: SettlingParts) {
    this.#parts = parts;
  }

  settle(run: ClaimedRun, end: RunEnd, isLast: boolean): Promise<Settled> {
    if (onlyEndsClaim(run, end, isLast)) return this.endClaim(run);
    const row = runEndRow(run, end, isLast, this.#parts.session.clock.now());
    const write = () => this.#writeAndWait(run, isLast, (transaction) => settle(transaction, row));
    return end.state.kind === 'due' ? this.#requeueOrder.add(run, { othersWait: true }, write) : write();
  }

  settleWith(
    run: ClaimedRun,
    end: RunEnd,
    isLast: boolean,
    effects: (client: PoolClient) => unknown,
  ): Promise<Settled> {
    const row = runEndRow(run, end, isLast, this.#parts.session.clock.now());
    const write = async (transaction: UserTransaction): Promise<Settled> => {
      const settled = await settle(transaction, row);
      // If the claim is lost, the process that took the run over writes the effects.
      if (settled === 'lost') return settled;
      await withUserClient(transaction, effects);
      return settled;
    };
    return this.#writeAndWait(run, isLast, write, { mayIdle: true });
  }

  requeue(run: ClaimedRun, isLast: boolean): Promise<Settled> {
    const row = runToWrite(run, isLast, this.#parts.session.clock.now());
    return this.#requeueOrder.add(run, { othersWait: false }, () =>
      this.#writeAndWait(run, isLast, (transaction) => requeue(transaction, row)),
    );
  }

  countAttempt(run: ClaimedRun, isLast: boolean): Promise<number | undefined> {
    const row = runToWrite(run, isLast, this.#parts.session.clock.now());
    return this.#writeAndWait(run, isLast, (transaction) => countAttempt(transaction, row));
  }

  arrive(arrival: JoinArrival): Promise<Settled> {
    return this.#writeAndWait(arrival, arrival.isLast, (transaction) => arrive(transaction, arrival));
  }

  endClaim(claimed: ClaimedEvent | ClaimedRun): Promise<Settled> {
    return this.#parts.ends.end(claimOnEvent(claimed));
  }

  beginReading(claimed: ClaimedEvent | ClaimedRun): Promise<boolean> {
    const { process, sequence, handler } = claimToRead(claimed);
    return this.#parts.session.write(async (transaction) => {
      const isHeld =
        handler === undefined
          ? await holdsEvent(transaction, { process, sequence })
          : await holdsRun(transaction, { process, sequence, handler });
      if (isHeld)
        await transaction.query(
          'update ringback.crash_counts set tried_by = $2, being_read = true where sequence = $1',
          [sequence, process],
        );
      return isHeld;
    });
  }

  async endReading(claimed: ClaimedEvent | ClaimedRun): Promise<void> {
    const { sequence, process, isForAttempt } = claimToRead(claimed);
    // A run of the event may be in its handler while the event is read for the others.
    await this.#parts.session.query(
      `update ringback.crash_counts set being_read = false, tried_by = case
         when $3 or exists (select from ringback.runs r where r.sequence = $1 and claimed_by = $2) then tried_by end
       where sequence = $1 and tried_by = $2`,
      [sequence, process, isForAttempt],
    );
  }

  unblock(handler: string): Promise<number> {
    return this.#parts.session.write((transaction) => unblockSome(transaction, handler));
  }

  /**
   * Makes a write, and resolves only when the claims and recordings in flight have been answered. The database may have
   * made these before the write, without seeing a run that it requeues: when their runs are placed, `CallOrder` must
   * still have that run. Writes that requeue nothing would not need it.
   */
  async #writeAndWait<T>(
    { sequence }: { readonly sequence: Sequence },
    isLast: boolean,
    write: (transaction: UserTransaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T> {
    const result = await this.#parts.session.write(write, options);
    if (isLast) this.#parts.owned.delete(sequence);
    await this.#parts.answered();
    return result;
  }
}

/**
 * Writes runs of one call and handler that are requeued at the same time in two steps: the first one alone, then the
 * others together. Each looks for earlier open runs, to wait for them, and on another connection it would not see the
 * first one before that is committed.
 */
class RequeueOrder {
  /** For each call and handler, the write for which later ones wait. */
  readonly #first = new Map<string, Promise<unknown>>();

  /** `othersWait`: runs added later wait until this one is committed, even if they already wait for an earlier one. */
  add<T>(
    { callId, handler }: { readonly callId: string | undefined; readonly handler: string },
    { othersWait }: { readonly othersWait: boolean },
    write: () => Promise<T>,
  ): Promise<T> {
    if (callId === undefined) return write();
    const key = JSON.stringify([callId, handler]);
    const before = this.#first.get(key);
    const written = before === undefined ? write() : before.then(write, write);
    if (before !== undefined && !othersWait) return written;
    this.#first.set(key, written);
    const forget = () => {
      if (this.#first.get(key) === written) this.#first.delete(key);
    };
    written.then(forget, forget);
    return written;
  }
}
