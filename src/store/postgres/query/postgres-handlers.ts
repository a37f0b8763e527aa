import type { HandlerPause, HandlerRuns, HandlerStore, LivingProcess } from '../../handler-store.ts';
import { maxReservedAhead } from '../../timeouts.ts';
import { maxDelay, maxCounted } from '../../shared/bounds.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { heartbeatTimeout, isLiving } from '../work/processes.ts';

/** The conditions of the indexes, one for each state. */
const states = [
  "state = 'due'",
  "state = 'claimed' and claimed_by is not null",
  "state = 'blocked'",
  "state = 'dead'",
];
const some = (isInState: string): string =>
  `(select handler, state from ringback.runs where ${isInState} limit ${maxCounted})`;

/** Handlers in Postgres. */
export const handlersOn = (session: Session, ownProcess: () => number | undefined): HandlerStore => ({
  async pause(pause) {
    await session.query(
      'insert into ringback.paused_handlers values ($1, $2, $3, $4) on conflict do nothing',
      [pause.handler, pause.since, pause.by ?? null, pause.reason ?? null],
    );
    const holding = await pausedHandlers(session);
    return holding.find(({ handler }) => handler === pause.handler) ?? pause;
  },

  async resume(handler) {
    const rows = await session.query(
      'delete from ringback.paused_handlers where handler = $1 returning handler',
      [handler],
    );
    return rows.length > 0;
  },

  async erasePause(handler) {
    await session.query(
      'update ringback.paused_handlers set paused_by = null, reason = null where handler = $1',
      [handler],
    );
  },

  // On the connections of heartbeats, which wait for this: behind slow settlements, a pause would come late.
  paused: () => pausedHandlers(session.heartbeats, heartbeatTimeout),

  reserveStarts: ({ handler, count, gap }) =>
    session.write(async (transaction) => {
      const { delay } = await oneRow<{ delay: number }>(transaction, nextSlot, [handler, maxDelay(gap)]);
      if (delay <= maxReservedAhead)
        await transaction.query(
          'update ringback.handler_rates set next_at = next_at + $2 where handler = $1',
          [handler, count * gap],
        );
      return delay;
    }),

  runs: () =>
    session.query<HandlerRuns>(
      `select handler, count(*) filter (where state = 'due') as due, count(*) filter (where state = 'claimed') as running,
         count(*) filter (where state = 'blocked') as blocked, count(*) filter (where state = 'dead') as dead
       from (${states.map(some).join(' union all ')}) r
       group by handler order by handler`,
    ),

  async processes() {
    const rows = await session.query<
      Omit<LivingProcess, 'handlers' | 'isThis'> & { handlers: string | null }
    >(
      `select id, host, pid, ${milliseconds('entered_at')} as "enteredAt",
         ${milliseconds('heartbeat_at')} as "heartbeatAt", handlers
       from ringback.processes where ${isLiving} order by id`,
    );
    return rows.map(({ handlers, ...row }) => ({
      ...row,
      handlers: handlers === null ? [] : (JSON.parse(handlers) as string[]),
      isThis: row.id === ownProcess(),
    }));
  },
});

/** SQL: a time in milliseconds since 1970. */
const milliseconds = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`;

const nextSlot = `
  with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000)::double precision as now)
  insert into ringback.handler_rates as kept select $1, now from clock on conflict (handler) do update
  set next_at = greatest((select now from clock), least(kept.next_at, (select now from clock) + $2))
  returning next_at - (select now from clock) as delay`;

interface PauseRow {
  readonly handler: string;
  readonly since: number;
  readonly by: string | null;
  readonly reason: string | null;
}

async function pausedHandlers(session: Session, timeout?: number): Promise<readonly HandlerPause[]> {
  const rows = await session.query<PauseRow>(
    `select handler, since, paused_by as "by", reason from ringback.paused_handlers order by handler`,
    [],
    timeout,
  );
  return rows.map(({ handler, since, by, reason }) => ({
    handler,
    since,
    by: by ?? undefined,
    reason: reason ?? undefined,
  }));
}
