/**
 * What keeps the order of a call on SQLite, from the socket to the handler:
 *   `prepareWriteGroup`   writes the events of a commit before it claims any, and they are answered first (write-group.ts)
 *   `prepareClaimsAtOnce` lets an event wait for any waiting one, and for open runs and other claims of its call (record.ts)
 *   `events`              claims in order of arrival, without the calls of other processes
 *   `isBehindWaiting`     lets a run that has not begun wait for earlier waiting events of its call
 *   `OpenRunsBefore`      gives a claimed event the open runs that go before it
 *   `SqliteStore`         returns claims to the dispatcher in the order of the writes
 *   dispatch              `Placer`, `CallOrder` (shared/call-order.ts) and the lanes
 */
import type Database from 'better-sqlite3';
import type { RunSelection } from '../../claims.ts';
import type { FoundEvent, FoundRun } from '../../shared/found-work.ts';
import { byCall, isOpen, prepareOpenRunsBefore } from './open-runs.ts';
import { asInteger, asText } from '../connection/parameters.ts';
import type { Processes } from './processes.ts';
import {
  type ClaimedEventRow,
  type ClaimedRunRow,
  claimedEventOf,
  foundRunOf,
} from '../../shared/event-rows.ts';
import { rowNotKept } from '../../shared/altered-rows.ts';
import type { Sequence } from '../../event-record.ts';

/** The most bytes of bodies that one claim reads, however many rows were asked for: bodies may have 5 MB. */
const claimBytes = 8 * 1024 * 1024;
/** How many rows one claim reads without taking them at most: deliveries wait meanwhile. */
const maxPassedOver = 500;

/** The functions by which a process takes work and gives it back. All run inside a transaction of the caller's. */
export function prepareClaims(database: Database.Database, processes: Processes) {
  const fields = `e.sequence, e.trace_id, e.source, e.event_name, e.call_id, e.received_at, b.headers, b.body,
    coalesce((select count from crash_counts t where t.sequence = e.sequence), 0) as crash_count,
    coalesce((select reading_crashes from crash_counts t where t.sequence = e.sequence), 0) as reading_crashes`;
  // `cross join` fixes the order, so that only the bodies of events that are taken are read.
  const newEvents = database.prepare(`
    select ${fields} from waiting w cross join events e using (sequence) cross join bodies b using (sequence)
    where ${isNotPassedOver('e')} order by w.sequence`);
  const endWait = database.prepare('delete from waiting where sequence = ?');
  const claimEvent = database.prepare('insert into claims values (?, ?)');
  const storedHandlers = database.prepare('select handler from runs where sequence = ?').pluck();
  // With order `strict`, a run waits for earlier due or blocked runs of its call, but not for blocked ones that a
  // replay has requeued. Searched backwards: this process has claimed the earliest ones, and each due run would go
  // through all of them.
  const dueRuns = database.prepare(`
    select ${fields}, r.handler, r.attempts, r.replay, r.due_at as was_due_at, p.requested_by as replayed_by,
      p.reason as replay_reason, p.finished_at as replayed_at
    from runs r cross join events e using (sequence) cross join bodies b using (sequence)
      left join audit p on p.id = r.replay
    where r.handler = ${asText('@handler')} and r.state = 'due' and r.due_at <= ${asInteger('@now')}
      and ${isNotPassedOver('r')}
      and not (${asInteger('@isStrict')} and r.call_id is not null and (
        select 1 from runs o ${byCall} where o.call_id = r.call_id and o.handler = r.handler
          and o.sequence < r.sequence and o.${isOpen}
          and (o.state = 'due' or (o.state = 'blocked' and o.replay is null))
        order by o.sequence desc limit 1) is not null)
    order by r.due_at, r.sequence`);
  const claimRun = database.prepare(`
    update runs set state = 'claimed', claimed_by = ? where sequence = ? and handler = ?`);
  const callsOfOthers = prepareCallsOfOthers(database);
  // After the first crash, any event that the process held may have caused it. From then on each is tried by itself,
  // and a crash counts only against the one that was being tried.
  const countCrash = database.prepare(`
    insert into crash_counts (sequence, count)
      select sequence, 1 from claims where process = @id
      union select sequence, 1 from runs where claimed_by = @id
    on conflict do update set
      count = count + 1, reading_crashes = reading_crashes + being_read, being_read = 0 where tried_by = @id`);
  const waitAgain = database.prepare('insert into waiting select sequence from claims where process = ?');
  const endClaims = database.prepare('delete from claims where process = ?');
  // A run that is given back keeps its due time. One that was stored by `countAttempt` has none.
  const releaseRuns = database.prepare(`
    update runs set state = 'due', due_at = coalesce(due_at, 0), claimed_by = null where claimed_by = ?`);
  const anyClaim = database.prepare(
    'select 1 from claims where process = @id union all select 1 from runs where claimed_by = @id limit 1',
  );
  const nextDue = database
    .prepare(
      `select due_at from runs where handler = ${asText('?')} and state = 'due' and due_at > ? order by due_at limit 1`,
    )
    .pluck();

  const openRunsBefore = prepareOpenRunsBefore(database);
  const behindWaiting = prepareBehindWaiting(database);

  return {
    events(limit: number): FoundEvent[] {
      processes.ensureEntered();
      const passedOver = JSON.stringify([...callsOfOthers(processes.id)]);
      const rows = take(newEvents.iterate({ passedOver }) as Iterable<ClaimedEventRow>, {
        limit,
        bytes: claimBytes,
      });
      return rows.map((row) => {
        endWait.run(row.sequence);
        if (claimEvent.run(row.sequence, processes.id).changes === 0) throw rowNotKept('claims');
        return {
          ...claimedEventOf(row),
          claimedBy: processes.id,
          storedHandlers: storedHandlers.all(row.sequence) as string[],
          openRuns: row.call_id === null ? [] : openRunsBefore(row.call_id, row.sequence),
        };
      });
    },

    runs(handler: string, isStrict: boolean, selection: RunSelection): FoundRun[] {
      const { limit, now, without, isOneACall } = selection;
      const limits = { limit, bytes: selection.bytes };
      processes.ensureEntered();
      const passedOver = JSON.stringify([...callsOfOthers(processes.id), ...without]);
      const due = { handler, now, isStrict: Number(isStrict), passedOver };
      const isBehindWaiting = behindWaiting();
      const calls = new Set<string>();
      const mayClaim = ({ attempts, replay, sequence, call_id: callId }: ClaimedRunRow): boolean => {
        // A run that has begun, or that a replay has requeued, has come before the waiting events already.
        if (attempts === 0 && replay === null && isBehindWaiting({ sequence, callId })) return false;
        if (!isOneACall || callId === null) return true;
        return calls.size < calls.add(callId).size;
      };
      const rows = take(dueRuns.iterate(due) as Iterable<ClaimedRunRow>, limits, mayClaim);
      return rows.map((row) => {
        claimRun.run(processes.id, row.sequence, row.handler);
        return { ...foundRunOf(row), claimedBy: processes.id };
      });
    },

    /** Takes all claims from a process: one that died, perhaps killed by one of them, or this one as it leaves. */
    releaseAll(id: number, { died }: { died: boolean }): number {
      if (died) countCrash.run({ id });
      waitAgain.run(id);
      return endClaims.run(id).changes + releaseRuns.run(id).changes;
    },

    /** Whether anything is claimed by this process. */
    hasAny: () => anyClaim.get({ id: processes.id }) !== undefined,

    nextDue: (handler: string, after = Number.MIN_SAFE_INTEGER) =>
      nextDue.get(handler, after) as number | undefined,
  };
}

/** SQL: the event's or run's call is not passed over. */
function isNotPassedOver(alias: 'e' | 'r'): string {
  return `(${alias}.call_id is null or ${alias}.call_id not in (select value from json_each(@passedOver)))`;
}

/** Takes rows that may be claimed, within the limits, but at least one if there is one. */
function take<Row extends ClaimedEventRow>(
  rows: Iterable<Row>,
  limits: { readonly limit: number; readonly bytes: number },
  mayClaim: (row: Row) => boolean = () => true,
): readonly Row[] {
  const found: Row[] = [];
  let passedOver = 0;
  let bytes = 0;
  let bytesRead = 0;
  for (const row of rows) {
    const isEnough = found.length >= limits.limit || (found.length > 0 && bytes >= limits.bytes);
    if (isEnough || bytesRead >= claimBytes || passedOver >= maxPassedOver) break;
    bytesRead += row.body.length;
    if (mayClaim(row)) {
      found.push(row);
      bytes += row.body.length;
    } else passedOver += 1;
  }
  return found;
}

/**
 * The ids of the calls that other processes work on. A process that claims passes over them, because two processes must
 * not run one call's events side by side.
 */
export function prepareCallsOfOthers(database: Database.Database): (process: number) => ReadonlySet<unknown> {
  const hasOthers = database.prepare('select 1 from processes where id <> ? limit 1');
  const select = database
    .prepare(
      `select call_id from claims join events using (sequence) where process <> @process and call_id is not null
       union select call_id from runs where claimed_by is not null and claimed_by <> @process and call_id is not null`,
    )
    .pluck();

  return (process) => new Set(hasOthers.get(process) === undefined ? [] : select.all({ process }));
}

interface EventOfCall {
  readonly sequence: Sequence;
  readonly callId: string | null;
}

/** How many waiting events are read at most. A run beyond the last one read counts as behind a waiting event. */
const maxRead = 4_096;

/**
 * Tells whether an earlier event of the same call waits. When a process ends, the events whose runs it had in memory
 * wait to be claimed again. A later run of the call may have a row, because memory had no room for it: claimed at once,
 * it would overtake those events. Call the function anew in each transaction.
 *
 * Reads the waiting events themselves, if a run comes after the first one: an index of them by call would make an event
 * of a backlog half as expensive again for the writer.
 */
function prepareBehindWaiting(database: Database.Database): () => (run: EventOfCall) => boolean {
  const first = database.prepare('select min(sequence) from waiting').pluck();
  const earliest = database.prepare(`
    select sequence, call_id as callId from waiting cross join events using (sequence)
    order by sequence limit ${maxRead}`);

  const read = () => {
    const events = earliest.all() as EventOfCall[];
    const upTo = events.length < maxRead ? Infinity : (events.at(-1)?.sequence ?? Infinity);
    // Of several events of a call, the first one stays.
    const firstOfCalls = new Map(events.toReversed().map(({ sequence, callId }) => [callId, sequence]));
    return { upTo, firstOfCalls };
  };

  return () => {
    const begins = (first.get() as Sequence | null) ?? Infinity;
    let waiting: ReturnType<typeof read> | undefined;
    return ({ sequence, callId }) => {
      if (callId === null || sequence < begins) return false;
      waiting ??= read();
      return sequence > waiting.upTo || (waiting.firstOfCalls.get(callId) ?? Infinity) < sequence;
    };
  };
}
