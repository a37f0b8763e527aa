import type Database from 'better-sqlite3';
import { ringbackError } from '../../errors.ts';

/**
 * The schema's history: entry n brings a database from schema n to n + 1. Entries are only ever added, never
 * edited, because databases in the field have already been through them.
 */
const migrations: readonly string[] = [
  `
  -- One row an event. The raw bytes are kept, so that whatever is read from them later can be read again.
  create table events (
    sequence        integer primary key autoincrement,
    trace_id        text not null,
    event_name      text not null,
    call_id         text,
    organization_id text,
    occurred_at     integer not null,
    received_at     integer not null,
    state           text not null default 'new' check (state in ('new', 'open', 'done')),
    claimed_by      integer,
    takeovers       integer not null default 0,
    headers         text not null,
    body            blob not null
  );
  create index events_new on events (sequence) where state = 'new' and claimed_by is null;
  create index events_claimed on events (claimed_by) where claimed_by is not null;
  create index events_call on events (call_id) where call_id is not null;

  -- What an event is recognized by. The primary key decides on duplicates, in the insert itself.
  create table identities (
    identity text primary key,
    sequence integer not null
  ) without rowid;

  -- One row a run, only where there is something to remember.
  create table runs (
    sequence   integer not null references events (sequence),
    handler    text not null,
    call_id    text,
    state      text not null check (state in ('due', 'claimed', 'blocked', 'done', 'dead')),
    attempts   integer not null,
    due_at     integer,
    claimed_by integer,
    reason     text,
    settled_at integer,
    primary key (sequence, handler)
  ) without rowid;
  create index runs_due on runs (handler, due_at, sequence) where state = 'due';
  create index runs_claimed on runs (claimed_by) where claimed_by is not null;
  create index runs_open_by_call on runs (call_id, handler, sequence) where state in ('due', 'claimed', 'blocked');
  create index runs_dead on runs (settled_at) where state = 'dead';

  -- Deliveries kept but not handled.
  create table quarantine (
    id          integer primary key autoincrement,
    kind        text not null check (kind in ('not_authentic', 'unreadable')),
    reason      text not null,
    digest      text not null,
    received_at integer not null,
    headers     text not null,
    body        blob not null
  );
  create unique index quarantine_unreadable on quarantine (digest) where kind = 'unreadable';
  create index quarantine_not_authentic on quarantine (id) where kind = 'not_authentic';

  -- The processes that share this file. A process that lives counts its beats; claims carry its id.
  create table processes (
    id       integer primary key autoincrement,
    identity text not null,
    beats    integer not null default 0
  );

  create table settings (
    name  text primary key,
    value text not null
  ) without rowid;
  `,
];

/** The schema that this version of Ringback writes. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to `schemaVersion`. A database that a newer version wrote is refused, never guessed:
 * an old program that writes to a new schema could lose what the new one promised to keep.
 */
export function migrate(database: Database.Database, name: string): void {
  database
    .transaction(() => {
      const found = database.pragma('user_version', { simple: true }) as number;
      if (found > schemaVersion) {
        throw ringbackError('database_newer', { database: name, found, expected: schemaVersion });
      }
      for (const migration of migrations.slice(found)) database.exec(migration);
      database.pragma(`user_version = ${schemaVersion}`);
    })
    .immediate();
}
