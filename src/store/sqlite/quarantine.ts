import type Database from 'better-sqlite3';
import type { QuarantineRecord } from '../store.ts';

/** What strangers may take of the disk: the oldest go first. */
const mostStrangers = 1_000;
const mostStrangerBytes = 50 * 1024 * 1024;

/**
 * Keeps deliveries that no handler sees. Unreadable ones are authentic and kept like events, one row for all
 * copies. Those not authentic are a stranger's to send, so their count and bytes are bounded.
 */
export function prepareQuarantine(database: Database.Database): (record: QuarantineRecord) => void {
  const insert = database.prepare(`
    insert into quarantine (kind, reason, digest, received_at, headers, body) values (?, ?, ?, ?, ?, ?)
    on conflict do nothing`);
  const strangers = database.prepare(`
    select count(*) as count, coalesce(sum(length(body)), 0) as bytes from quarantine where kind = 'not_authentic'`);
  const deleteOldest = database.prepare(`
    delete from quarantine where id = (select min(id) from quarantine where kind = 'not_authentic')`);

  return (record) => {
    insert.run(
      record.kind,
      record.reason,
      record.digest,
      record.receivedAt,
      JSON.stringify(record.headers),
      record.body,
    );
    if (record.kind === 'unreadable') return;
    let held = strangers.get() as { count: number; bytes: number };
    while (held.count > mostStrangers || held.bytes > mostStrangerBytes) {
      deleteOldest.run();
      held = strangers.get() as { count: number; bytes: number };
    }
  };
}
