import type { Receiver } from '../support/public.ts';

/**
 * Makes it look as if processes had died over each event of an inbox in SQLite that waits to be claimed, or over those
 * that meet a condition.
 */
export function poisonEvents({ database }: Pick<Receiver, 'database'>, deaths: number, condition = ''): void {
  database.exec(`
    create trigger poison after insert on waiting ${condition} begin
      insert into crash_counts (sequence, count) values (new.sequence, ${deaths}) on conflict do nothing;
    end`);
}
