import type Database from 'better-sqlite3';
import type { DeadLetter, EventState, StoreCounts } from '../store.ts';

interface DeadRow extends Omit<DeadLetter, 'callId'> {
  readonly callId: string | null;
}

/** What a person can ask about the inbox. */
export function prepareOverview(database: Database.Database) {
  const deadLetters = database.prepare(`
    select r.sequence, e.trace_id as traceId, e.event_name as eventName, r.call_id as callId, r.handler,
           r.attempts, coalesce(r.reason, '') as reason, r.settled_at as at
    from runs r join events e using (sequence) where r.state = 'dead' order by r.settled_at desc limit ?`);
  const waitingHandlers = database
    .prepare("select distinct handler from runs where state in ('due', 'blocked')")
    .pluck();
  const countEvents = database.prepare('select state, count(*) as count from events group by state');
  const countRuns = database.prepare('select state, count(*) as count from runs group by state');
  const countQuarantine = database.prepare(
    'select kind as state, count(*) as count from quarantine group by kind',
  );

  // Through the identities, because trace ids have no index of their own. A trace id from the body and one from
  // a header that read alike are two events; the one that is less far is told.
  const eventState = database
    .prepare(
      `select e.state from identities i join events e using (sequence)
       where i.identity in ('body:' || @traceId, 'header:' || @traceId, @traceId) and e.trace_id = @traceId
       order by e.state = 'done' limit 1`,
    )
    .pluck();

  return {
    eventState: (traceId: string) => eventState.get({ traceId }) as EventState | undefined,
    deadLetters: (limit: number) => (deadLetters.all(limit) as DeadRow[]).map(toDeadLetter),
    waitingHandlers: () => waitingHandlers.all() as string[],
    counts(): StoreCounts {
      const events = countsOf(countEvents);
      const runs = countsOf(countRuns);
      const quarantine = countsOf(countQuarantine);
      return {
        events: { new: events('new'), open: events('open'), done: events('done') },
        runs: { due: runs('due'), running: runs('claimed'), blocked: runs('blocked'), dead: runs('dead') },
        quarantine: { notAuthentic: quarantine('not_authentic'), unreadable: quarantine('unreadable') },
      };
    },
  };
}

function toDeadLetter({ callId, ...row }: DeadRow): DeadLetter {
  return { ...row, callId: callId ?? undefined };
}

function countsOf(statement: Database.Statement): (state: string) => number {
  const rows = statement.all() as { state: string; count: number }[];
  const byState = new Map(rows.map((row) => [row.state, row.count]));
  return (state) => byState.get(state) ?? 0;
}
