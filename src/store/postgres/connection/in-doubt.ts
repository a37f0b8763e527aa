import { type Clock, pause } from '../../../kit/clock.ts';
import { storePause } from '../../timeouts.ts';
import { isUnknownTransaction } from './statement.ts';

/** A transaction that has begun: its number, and the backend that runs it, which may be a pooler's. */
export interface Begun {
  readonly id: string;
  readonly backend: number;
  /** The database's incarnation before the transaction began. */
  readonly incarnation: string | undefined;
}

export interface OutcomeSource {
  readonly clock: Clock;
  /** Aborted when the store must no longer wait for a database that can't be reached. */
  readonly signal: AbortSignal;
  /** One statement by itself. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The outcome of a COMMIT that failed or was not answered. */
type CommitOutcome = 'committed' | 'aborted';

/**
 * Asks for the outcome of a transaction until the database answers. Rejects with `cause` if it can't be known any more:
 * a server that has crashed, or a standby that has become the primary, may have given the number of a lost transaction
 * to another.
 */
export async function commitOutcomeOf(
  source: OutcomeSource,
  begun: Begun,
  cause: unknown,
): Promise<CommitOutcome> {
  const { clock, signal } = source;
  if (begun.incarnation === undefined) throw cause;
  for (;;) {
    try {
      const [row] = await source.query<{ status: string | null; incarnation: string | null }>(statusOf, [
        begun.id,
      ]);
      if (row?.status === 'aborted') return 'aborted';
      if (row?.status === 'committed') {
        if (row.incarnation === begun.incarnation) return 'committed';
        throw cause;
      }
    } catch (error) {
      if (error === cause) throw error;
      // A standby that became the primary without this transaction has never given out its number.
      if (isUnknownTransaction(error)) return 'aborted';
    }
    if (signal.aborted) throw cause;
    await pause(clock, storePause, signal);
  }
}

const statusOf = `
  select pg_xact_status($1::text::xid8) as status, (select id from ringback.incarnation)::text as incarnation`;
