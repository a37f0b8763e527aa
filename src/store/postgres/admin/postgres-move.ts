import { ringbackError } from '../../../errors/errors.ts';
import type { Clock } from '../../../kit/clock.ts';
import { type Movable, type MoveSource, type MoveTarget, takeOverIn } from '../../shared/move.ts';
import { isOfConnection, toProblem } from '../connection/opening-cause.ts';
import { type PostgresTarget, targetName } from '../connection/target.ts';
import { Session } from '../connection/session.ts';
import { codeOf } from '../../../kit/error-text.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { PostgresStore } from '../postgres-store.ts';
import { sourceOn } from './move-source.ts';
import { targetOn } from './move-target.ts';

/** An inbox in Postgres that can be moved from or to. */
export class PostgresMove implements Movable {
  readonly name: string;
  readonly #target: PostgresTarget;
  readonly #clock: Clock;

  constructor(target: PostgresTarget, clock: Clock) {
    this.name = targetName(target);
    this.#target = target;
    this.#clock = clock;
  }

  asSource<T>(work: (source: MoveSource) => Promise<T>): Promise<T> {
    return this.#alone(async (session) => {
      const done: { result?: T } = {};
      try {
        const moved = async (transaction: Transaction) => {
          await this.#refuseUse(transaction, 'share');
          done.result = await work(sourceOn(transaction, this.name));
        };
        await session.write(moved, { mayIdle: true });
      } catch (error) {
        // Nothing was written here: if the connection is lost after the last page, only the lock is lost.
        if (!('result' in done)) throw error;
      }
      return done.result as T;
    });
  }

  asTarget<T>(work: (target: MoveTarget) => Promise<T>): Promise<T> {
    // In this mode, moves to the same schema write one at a time.
    const refuseUse = (transaction: Transaction) => this.#refuseUse(transaction, 'share row exclusive');
    return this.#alone(
      async (session) => {
        await session.write(refuseUse);
        await this.#requireSequences(session);
        return work(targetOn(session, refuseUse));
      },
      { mayBePart: true },
    );
  }

  async #alone<T>(
    work: (session: Session) => Promise<T>,
    options?: { readonly mayBePart: boolean },
  ): Promise<T> {
    await takeOverIn(new PostgresStore(this.#target, this.#clock, options));
    const session = new Session(this.#target, this.#clock);
    try {
      return await work(session);
    } catch (error) {
      throw isOfDatabase(error) ? toProblem(error, this.name) : error;
    } finally {
      await session.close();
    }
  }

  /**
   * Refuses a user who may not set the sequences, which the last step does: it would fail after hours of copying.
   * What a receiver needs doesn't include that permission.
   */
  async #requireSequences(session: Session): Promise<void> {
    const { maySetSequences } = await oneRow<{ maySetSequences: boolean }>(session, askSequences);
    if (maySetSequences) return;
    const cause =
      "the user may not set the inbox's sequences, which a move needs in addition to what a receiver does";
    const fix =
      'Grant update on all sequences in the schema to it, or move as the user who created the schema (docs/moving.md).';
    throw ringbackError('database_unreachable', { database: this.name, cause, fix });
  }

  /**
   * Refuses if a receiver works on the inbox. None can start until the transaction ends: it couldn't enter its process.
   */
  async #refuseUse(transaction: Transaction, mode: 'share' | 'share row exclusive'): Promise<void> {
    await transaction.query(`lock table ringback.processes in ${mode} mode`);
    const processes = await transaction.query('select 1 from ringback.processes limit 1');
    if (processes.length > 0) throw ringbackError('inbox_in_use', { database: this.name });
  }
}

const askSequences = `
  select bool_and(has_sequence_privilege(name, 'UPDATE')) as "maySetSequences"
  from (values ('ringback.sequences'), (pg_get_serial_sequence('ringback.quarantine', 'id')),
    (pg_get_serial_sequence('ringback.audit', 'id'))) as s (name)`;

/** Whether the driver threw the error. All of its errors have codes, except some of lost connections. */
function isOfDatabase(error: unknown): boolean {
  return codeOf(error) !== '' || isOfConnection(error);
}
