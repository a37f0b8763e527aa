import type Database from 'better-sqlite3';
import type { HandlerPause, HandlerRuns, StartSlots } from '../../handler-store.ts';
import { maxDelay, maxCounted } from '../../shared/bounds.ts';
import { maxReservedAhead } from '../../timeouts.ts';

/** Pauses handlers, and shows what waits for each. */
export function prepareHandlers(database: Database.Database) {
  const pause = database.prepare(
    'insert into paused_handlers values (@handler, @since, @by, @reason) on conflict do nothing',
  );
  const resume = database.prepare('delete from paused_handlers where handler = ?');
  const next = database
    .prepare(
      `insert into handler_rates values (@handler, @now) on conflict do update
       set next_at = max(@now, min(next_at, @now + @max)) returning next_at`,
    )
    .pluck();
  const reserve = database.prepare('update handler_rates set next_at = next_at + ? where handler = ?');
  const paused = database.prepare(
    'select handler, since, paused_by as "by", reason from paused_handlers order by handler',
  );
  const some = (state: string, condition: string) =>
    `select * from (select handler, '${state}' as state from runs where ${condition} limit ${maxCounted})`;
  // Through the indexes of open and dead runs, so that runs that are done are not gone through.
  const runs = database.prepare(`
    select handler, sum(state = 'due') as due, sum(state = 'claimed') as running, sum(state = 'blocked') as blocked,
      sum(state = 'dead') as dead
    from (
      ${some('due', "state = 'due'")} union all ${some('claimed', 'claimed_by is not null')} union all
      ${some('blocked', "state = 'blocked'")} union all ${some('dead', "state = 'dead'")})
    group by handler order by handler`);

  const listPaused = (): HandlerPause[] =>
    (paused.all() as (HandlerPause & { by: string | null; reason: string | null })[]).map((row) => ({
      ...row,
      by: row.by ?? undefined,
      reason: row.reason ?? undefined,
    }));

  return {
    pause(row: HandlerPause): HandlerPause {
      pause.run({ ...row, by: row.by ?? null, reason: row.reason ?? null });
      return listPaused().find(({ handler }) => handler === row.handler) ?? row;
    },
    resume: (handler: string): boolean => resume.run(handler).changes > 0,
    reserveStarts({ handler, count, gap }: StartSlots, now: number): number {
      const nextAt = next.get({ handler, now, max: maxDelay(gap) }) as number;
      if (nextAt - now <= maxReservedAhead) reserve.run(count * gap, handler);
      return nextAt - now;
    },
    paused: listPaused,
    runs: () => runs.all() as HandlerRuns[],
  };
}
