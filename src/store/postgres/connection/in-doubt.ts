import { type Clock, pause } from '../../../kit/clock.ts';
import { storePause } from '../../timeouts.ts';
import { isUnknownTransaction } from './statement.ts';

/** A transaction that has begun: its number, and the process of the database that runs it, which may be a pooler's. */
export interface Begun {
  readonly id: string;
  readonly backend: number;
  /** What the database was known by before the transaction began. */
  readonly incarnation: string | undefined;
}

/** Where the database is asked. */
export interface OutcomeSource {
  readonly clock: Clock;
  /** Aborted when nobody waits any longer for a database that can't be reached. */
  readonly signal: AbortSignal;
  /** One statement by itself. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** How a commit went whose answer did not come: the transaction was in doubt until then. */
export type CommitOutcome = 'committed' | 'aborted';

/**
 * What became of a transaction, asked until the database has told. Rejects with `cause` when nobody can tell any more: a
 * server that has crashed, or a standby that has become the primary, may give the number of a transaction that is lost to
 * another one.
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
      // A standby that has become the primary without this transaction has never given its number.
      if (isUnknownTransaction(error)) return 'aborted';
    }
    if (signal.aborted) throw cause;
    await pause(clock, storePause, signal);
  }
}

const statusOf = `
  select pg_xact_status($1::text::xid8) as status, (select id from ringback.incarnation)::text as incarnation`;
