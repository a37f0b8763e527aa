import { hostname } from 'node:os';
import { isLockTimeout } from '../connection/statement.ts';
import type { Sequence } from '../../event-record.ts';
import { heartbeatInterval } from '../../timeouts.ts';
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { dueAsBefore, lockEventsOf } from './holding.ts';

/** After how many seconds without a heartbeat a process is taken for dead, by the database's clock: four missed ones. */
export const deadAfter = (4 * heartbeatInterval) / 1_000;

/** SQL: a process lives, and isn't about to leave. */
export const isLiving = `not is_leaving and heartbeat_at > clock_timestamp() - make_interval(secs => ${deadAfter})`;

/** How long a heartbeat may take, in milliseconds, before it is sent again: its connection may be lost without notice. */
export const heartbeatTimeout = 2_000;

/** How long a process may wait to enter, in milliseconds, while somebody has locked the table, such as a move. */
const enterTimeout = 5_000;

/** SQL: the last sequence given to an event. */
const lastSequence = "coalesce(pg_sequence_last_value('ringback.sequences'::regclass), 0)";

/** Which of the events that this process owns have ended. */
export interface EndedEvents {
  /** All up to this sequence have ended, */
  readonly upTo: Sequence;
  /** except these. */
  readonly except: readonly Sequence[];
}

/**
 * The processes that share the inbox. The database's clock alone decides which of them are dead, because the machines'
 * clocks may be minutes apart. A process that was only suspended finds its row gone, and can write nothing about its
 * claims.
 */
export class Processes {
  readonly #session: Session;
  #id: number | undefined;
  /** How often this process has recovered events that it owned without knowing it. */
  recoveries = 0;
  #heartbeats = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The id of this process, which no other ever gets. */
  get id(): number {
    if (this.#id === undefined) throw new Error('The store is not open.');
    return this.#id;
  }

  get idIfEntered(): number | undefined {
    return this.#id;
  }

  /**
   * Enters this process among those that share the inbox, under a new id. Its `ended_up_to` begins at the last
   * sequence, because it owns no earlier event: otherwise, searches for owned events would go through all of them.
   */
  async enter(handlers?: readonly string[]): Promise<void> {
    await this.#session.query('insert into ringback.incarnation default values on conflict do nothing');
    const { id, incarnation } = await this.#session.write(async (transaction) => {
      await transaction.query(`set local lock_timeout = ${enterTimeout}`);
      return oneRow<{ id: number; incarnation: string | null }>(
        transaction,
        `insert into ringback.processes (host, pid, handlers, ended_up_to) values ($1, $2, $3, ${lastSequence})
         returning id, (select i.id from ringback.incarnation i) as incarnation`,
        [hostname(), process.pid, handlers === undefined ? null : JSON.stringify(handlers)],
      );
    });
    this.#session.incarnation = incarnation ?? undefined;
    this.#id = id;
    this.recoveries = 0;
    this.#heartbeats = 0;
  }

  /**
   * Writes a heartbeat, and resolves to the last sequence that was given. Resolves to undefined if this process must
   * give up its claims: it was taken for dead, or the database may have lost what it wrote. One that fails is sent once
   * more, on another connection, because the next one would come too late.
   */
  async heartbeat(ended: EndedEvents | undefined): Promise<Sequence | undefined> {
    return this.#sendHeartbeat(ended).catch(() => this.#sendHeartbeat(ended));
  }

  async #sendHeartbeat(ended: EndedEvents | undefined): Promise<Sequence | undefined> {
    this.#heartbeats += 1;
    const { incarnation, clock } = this.#session;
    const values = [this.id, this.#heartbeats, ended?.upTo, ended?.except, incarnation, clock.now()];
    const [row] = await this.#session.query<{ last: Sequence }>(writeHeartbeat, values, heartbeatTimeout);
    return row?.last;
  }

  /** Removes what `ended` no longer has to say, or a part of it. */
  async clearEnded(): Promise<void> {
    await this.#session.query('select ringback.clear_ended()');
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#session.write(async (transaction) => {
      await transaction.query('update ringback.processes set handlers = $2 where id = $1', [
        this.id,
        JSON.stringify(handlers),
      ]);
      const others = await transaction.query<{ handlers: string }>(
        `select handlers from ringback.processes
         where id <> $1 and handlers is not null and ${isLiving} order by id`,
        [this.id],
      );
      return others.map((row) => JSON.parse(row.handlers) as string[]);
    });
  }

  /**
   * Takes over what processes had claimed that have died, or that left without giving it back. Resolves to the number
   * of claims of the dead ones. Goes on with the others if one can't be taken over. With `onlyLeaving`, no process is
   * taken for dead.
   */
  async takeOver({ onlyLeaving }: { readonly onlyLeaving: boolean }): Promise<number> {
    const gone = await this.#session.query<{ id: number; isLeaving: boolean }>(
      `select id, is_leaving as "isLeaving" from ringback.processes
       where id <> $1 and (is_leaving or (not $3 and heartbeat_at < clock_timestamp() - make_interval(secs => $2)))
       order by id`,
      [this.id, deadAfter, onlyLeaving],
    );
    const failures: unknown[] = [];
    let takenOver = 0;
    for (const { id, isLeaving } of gone)
      try {
        const released = await this.#release(id);
        if (!isLeaving) takenOver += released;
      } catch (error) {
        failures.push(error);
      }
    if (failures.length > 0) throw failures[0];
    return takenOver;
  }

  /** Gives back what this process has claimed, and leaves. */
  async leave(): Promise<void> {
    const id = this.#id;
    this.#id = undefined;
    if (id === undefined) return;
    await this.markLeaving(id);
    await this.#release(id);
  }

  /** Marks a process as leaving: if it can't give its claims back, they are taken over without counting a crash. */
  async markLeaving(id: number): Promise<void> {
    await this.#session.query('update ringback.processes set is_leaving = true where id = $1', [id]);
  }

  async #release(id: number): Promise<number> {
    try {
      return await this.#session.write(async (transaction) => {
        const ifGone = () => transaction.query<{ isLeaving: boolean }>(goneProcess, [id, deadAfter]);
        // Before its transactions are ended, too: it may have come back while others were taken over.
        if ((await ifGone()).length === 0) return 0;
        await this.#lockAlone(transaction, id);
        const [gone] = await ifGone();
        if (!gone) return 0;
        // First, because the crash count of an event that is being removed would stay for ever.
        await lockEventsOf(transaction, id, { withRuns: true });
        if (!gone.isLeaving) await transaction.query(countCrash, [id]);
        const events = await transaction.query(requeueEvents, [id]);
        const runs = await transaction.query(requeueRuns, [id]);
        await transaction.query('delete from ringback.processes where id = $1', [id]);
        return events.length + runs.length;
      });
    } catch (error) {
      // Tried again after the next heartbeat of this process or another.
      if (isLockTimeout(error)) return 0;
      throw error;
    }
  }

  /**
   * Waits for the process's lock, which its writes in flight hold; later ones find the process gone. Its open
   * transactions are ended: those of a suspended process could last for as long as it is suspended. Not those that wait
   * for a synchronous standby: they have committed, and if ended would show others what the standby lacks.
   */
  async #lockAlone(transaction: Transaction, id: number): Promise<void> {
    const { free } = await oneRow<{ free: boolean }>(
      transaction,
      "select pg_try_advisory_xact_lock(hashtextextended('ringback.processes', $1)) as free",
      [id],
    );
    if (free) return;
    await transaction.query(endTransactions, [id]);
    await transaction.query("set local lock_timeout = '1s'");
    await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.processes', $1))", [id]);
  }
}

/** A heartbeat that a later one has overtaken writes nothing, and returns no row. */
const writeHeartbeat = `
  with heartbeat as (
    update ringback.processes set heartbeat_at = clock_timestamp(), heartbeats = $2,
      clock_ahead = $6::bigint - (extract(epoch from clock_timestamp()) * 1000)::bigint,
      ended_up_to = greatest(ended_up_to, $3::bigint), still_owned = coalesce($4::bigint[], still_owned)
    where id = $1 and heartbeats < $2 and (select i.id from ringback.incarnation i) = $5
    returning id
  )
  select ${lastSequence} as last from heartbeat`;

const goneProcess = `
  select is_leaving as "isLeaving" from ringback.processes
  where id = $1 and (is_leaving or heartbeat_at < clock_timestamp() - make_interval(secs => $2))`;

/**
 * Ends the connections that hold the lock of a process for its writes, but not those that take it over. Those of another
 * user only if this one may: two may take turns, so that passwords can be changed. Only who may read their statistics
 * sees that one waits for a standby, which must not be ended; and a superuser's can only be ended by another.
 */
const endTransactions = `
  select pg_terminate_backend(l.pid) from pg_locks l
    join pg_database d on d.oid = l.database and d.datname = current_database()
    join pg_stat_activity a on a.pid = l.pid
      and (pg_has_role(a.usesysid, 'usage')
        or pg_has_role('pg_signal_backend', 'usage') and pg_has_role('pg_read_all_stats', 'usage'))
    join pg_roles r on r.oid = a.usesysid
      and (not r.rolsuper or (select s.rolsuper from pg_roles s where s.rolname = current_user))
  where a.wait_event is distinct from 'SyncRep'
    and l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.mode = 'ShareLock'
    and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('ringback.processes', $1)`;

/**
 * After the first crash, any event that the process held may have caused it. From then on each is tried by itself, and
 * a crash counts only against the one that was being tried.
 */
const countCrash = `
  insert into ringback.crash_counts as c (sequence, count)
    select sequence, 1 from ringback.claims where process = $1
    union select sequence, 1 from ringback.all_owned where process = $1
    union select sequence, 1 from ringback.runs where claimed_by = $1
  on conflict (sequence) do update set
    count = c.count + 1, reading_crashes = c.reading_crashes + c.being_read::integer, being_read = false
  where c.tried_by = $1`;

const requeueRuns = `
  update ringback.runs set state = 'due', due_at = ${dueAsBefore}, claimed_by = null where claimed_by = $1 returning 1`;

const requeueEvents = `
  with claimed as (delete from ringback.claims where process = $1 returning sequence, call_id)
  insert into ringback.waiting (sequence, call_id)
    select sequence, call_id from claimed
    union select sequence, call_id from ringback.all_owned where process = $1
  on conflict do nothing
  returning 1`;
