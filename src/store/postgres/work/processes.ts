import { isLockTimeout } from '../connection/statement.ts';
import type { Sequence } from '../../event-record.ts';
import { heartbeatInterval } from '../../timeouts.ts';
import type { Session } from '../connection/session.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';
import { lockEventsOf } from './holding.ts';
import { dueAsBefore } from './run-row.ts';

/** After how many seconds without a heartbeat a process is taken for dead, by the database's clock: four were missed. */
export const deadAfter = (4 * heartbeatInterval) / 1_000;

/** How long a heartbeat may take, in milliseconds, before it is sent again: its connection may have been lost without a word. */
export const heartbeatTimeout = 2_000;

/** SQL: the last sequence that was given to an event. */
const lastSequence = "coalesce(pg_sequence_last_value('ringback.sequences'::regclass), 0)";

/** What a heartbeat says of the events that this process owns. */
export interface EndedEvents {
  /** All up to this sequence have ended, */
  readonly upTo: Sequence;
  /** but for these. */
  readonly except: readonly Sequence[];
}

/**
 * What other processes may take over is decided by the database's clock alone: those of the machines may be minutes apart. A
 * process that was only suspended finds its row gone, and can write nothing about what it had claimed.
 */
export class Processes {
  readonly #session: Session;
  #id: number | undefined;
  #recoveries = 0;
  #heartbeats = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The id of this process; no other ever gets it. */
  get id(): number {
    if (this.#id === undefined) throw new Error('The store is not open.');
    return this.#id;
  }

  /** How often it has recovered what it had recorded and didn't know of. */
  get recoveries(): number {
    return this.#recoveries;
  }

  noteRecovery(recoveries: number): void {
    this.#recoveries = recoveries;
  }

  get idIfEntered(): number | undefined {
    return this.#id;
  }

  /**
   * Enters this process among those that share the inbox, under a new id. It owns nothing of what is there: otherwise, whoever
   * looks for what processes own would go through all of it.
   */
  async enter(handlers?: readonly string[]): Promise<void> {
    await this.#session.query('insert into ringback.incarnation default values on conflict do nothing');
    const { id, incarnation } = await oneRow<{ id: number; incarnation: string | null }>(
      this.#session,
      `insert into ringback.processes (handlers, ended_up_to) values ($1, ${lastSequence})
       returning id, (select i.id from ringback.incarnation i) as incarnation`,
      [handlers === undefined ? null : JSON.stringify(handlers)],
    );
    this.#session.incarnation = incarnation ?? undefined;
    this.#id = id;
    this.#recoveries = 0;
    this.#heartbeats = 0;
  }

  /**
   * A heartbeat. Resolves to the last sequence that was given. Resolves to undefined if this process may not go on with what
   * it has claimed: it is no longer taken for alive, or the database may have forgotten what it has written. One that fails is
   * sent once more, on another connection: the next would come too late.
   */
  async heartbeat(ended: EndedEvents | undefined): Promise<Sequence | undefined> {
    return this.#sendHeartbeat(ended).catch(() => this.#sendHeartbeat(ended));
  }

  async #sendHeartbeat(ended: EndedEvents | undefined): Promise<Sequence | undefined> {
    this.#heartbeats += 1;
    const values = [this.id, this.#heartbeats, ended?.upTo, ended?.except, this.#session.incarnation];
    const [row] = await this.#session.query<{ last: Sequence }>(writeHeartbeat, values, heartbeatTimeout);
    return row?.last;
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#session.write(async (transaction) => {
      await transaction.query('update ringback.processes set handlers = $2 where id = $1', [
        this.id,
        JSON.stringify(handlers),
      ]);
      const others = await transaction.query<{ handlers: string }>(
        `select handlers from ringback.processes
         where id <> $1 and handlers is not null and not is_leaving
           and heartbeat_at > clock_timestamp() - make_interval(secs => $2)
         order by id`,
        [this.id, deadAfter],
      );
      return others.map((row) => JSON.parse(row.handlers) as string[]);
    });
  }

  /**
   * Takes over what processes had claimed that have died, or that could not give it back. Resolves to how many claims those had
   * that died. What can't be taken over of one process must not keep what others had. With `onlyLeaving`, nobody is taken for
   * dead.
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

  /**
   * Writes that the process with this id leaves: its claims are then taken over if they can't be given back, and none of its
   * events is blamed for its death.
   */
  async markLeaving(id: number): Promise<void> {
    await this.#session.query('update ringback.processes set is_leaving = true where id = $1', [id]);
  }

  async #release(id: number): Promise<number> {
    try {
      return await this.#session.write(async (transaction) => {
        await this.#lockAlone(transaction, id);
        const [gone] = await transaction.query<{ isLeaving: boolean }>(
          `select is_leaving as "isLeaving" from ringback.processes where id = $1
             and (is_leaving or heartbeat_at < clock_timestamp() - make_interval(secs => $2))`,
          [id, deadAfter],
        );
        if (!gone) return 0;
        // A crash that is counted of an event that is removed would be kept for ever.
        await lockEventsOf(transaction, id, { withRuns: true });
        if (!gone.isLeaving) await transaction.query(countCrash, [id]);
        const events = await transaction.query(requeueEvents, [id]);
        const runs = await transaction.query(requeueRuns, [id]);
        await transaction.query('delete from ringback.ended where process = $1', [id]);
        await transaction.query('delete from ringback.processes where id = $1', [id]);
        return events.length + runs.length;
      });
    } catch (error) {
      // It is tried again after the next heartbeat, of this process or of another.
      if (isLockTimeout(error)) return 0;
      throw error;
    }
  }

  /**
   * Waits for what the process has in flight at the database: it is written, or finds that the process is gone. A transaction
   * of a process that is suspended would go on for as long as that is, and is ended; so is what a process that gives back its
   * claims has not finished.
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

/** One that was overtaken by a later one writes nothing, and finds no row. */
const writeHeartbeat = `
  with heartbeat as (
    update ringback.processes set heartbeat_at = clock_timestamp(), heartbeats = $2,
      ended_up_to = greatest(ended_up_to, $3::bigint), still_owned = coalesce($4::bigint[], still_owned)
    where id = $1 and heartbeats < $2 and (select i.id from ringback.incarnation i) = $5
    returning id, ended_up_to, still_owned
  ), removed as (
    delete from ringback.ended using heartbeat where process = heartbeat.id and last <= heartbeat.ended_up_to
      and not exists (select from unnest(heartbeat.still_owned) as s (sequence) where s.sequence between first and last)
  )
  select ${lastSequence} as last from heartbeat`;

/** Ends the connections of this user that hold the lock of a process, but not those that take over what it had claimed. */
const endTransactions = `
  select pg_terminate_backend(l.pid) from pg_locks l
    join pg_database d on d.oid = l.database and d.datname = current_database()
    join pg_stat_activity a on a.pid = l.pid and a.usename = session_user
  where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.mode = 'ShareLock'
    and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('ringback.processes', $1)`;

/**
 * After the first death nobody knows which of the events it was. From then on each is tried by itself, and what the process
 * had not begun to try is not to blame.
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
