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
    agent_id        text,
    occurred_at     integer not null,
    received_at     integer not null,
    state           text not null default 'new' check (state in ('new', 'open', 'done')),
    claimed_by      integer,
    takeovers       integer not null default 0,
    headers         text not null,
    facts           text not null,
    body            blob not null
  );
  create index events_new on events (sequence) where state = 'new' and claimed_by is null;
  create index events_claimed on events (claimed_by) where claimed_by is not null;
  create index events_call on events (call_id) where call_id is not null;
  create index events_received on events (received_at);
  -- What a person looks events up by, apart from the rows with their bodies. None of it ever changes.
  create index events_listed on events (sequence, received_at, event_name, agent_id, trace_id);

  -- What an event is recognized by. The primary key decides on duplicates, in the insert itself. When the
  -- event is gone its identities stay as tombstones until they expire, so that a late copy is a duplicate.
  create table identities (
    identity   text primary key,
    sequence   integer,
    expires_at integer
  ) without rowid;
  create index identities_expired on identities (expires_at) where expires_at is not null;
  create index identities_of_event on identities (sequence) where sequence is not null;

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
    replay     integer,
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
  create index quarantine_received on quarantine (received_at);

  -- How much is in quarantine, kept by whatever adds or removes, and how many strangers' were dropped, ever.
  create table quarantine_totals (
    kind    text primary key,
    count   integer not null default 0,
    bytes   integer not null default 0,
    dropped integer not null default 0
  ) without rowid;
  insert into quarantine_totals (kind) values ('not_authentic'), ('unreadable');
  create trigger quarantine_added after insert on quarantine begin
    update quarantine_totals set count = count + 1, bytes = bytes + length(new.body) + length(new.headers)
    where kind = new.kind;
  end;
  create trigger quarantine_removed after delete on quarantine begin
    update quarantine_totals set count = count - 1, bytes = bytes - length(old.body) - length(old.headers)
    where kind = old.kind;
  end;
  create trigger quarantine_changed after update of kind, headers, body on quarantine begin
    update quarantine_totals set count = count - 1, bytes = bytes - length(old.body) - length(old.headers)
    where kind = old.kind;
    update quarantine_totals set count = count + 1, bytes = bytes + length(new.body) + length(new.headers)
    where kind = new.kind;
  end;

  -- The processes that share this file. A process that lives counts its beats; claims carry its id.
  create table processes (
    id       integer primary key autoincrement,
    identity text not null,
    beats    integer not null default 0
  );

  -- What each call has become; read it through the view below.
  create table call_records (
    call_id              text primary key,
    first_sequence       integer not null,
    organization_id      text,
    agent_id             text,
    status               text not null,
    started_at           integer,
    ended_at             integer,
    duration_ms          integer,
    transfer_destination text,
    transfer_status      text,
    transfer_reason      text,
    transfer_sentiment   text,
    transferred_at       integer,
    analysis_status      text,
    analysis_reason      text,
    analysed_at          integer,
    events               integer not null,
    first_seen_at        integer not null,
    last_seen_at         integer not null
  ) without rowid;
  create index call_records_in_order on call_records (first_sequence);

  -- For a person with any SQL tool: one row a call, times as ISO 8601 in UTC.
  create view calls as select
    call_id, organization_id, agent_id, status,
    strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') as started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') as ended_at,
    duration_ms, transfer_destination, transfer_status, transfer_reason, transfer_sentiment,
    strftime('%Y-%m-%dT%H:%M:%fZ', transferred_at / 1000.0, 'unixepoch') as transferred_at,
    analysis_status, analysis_reason,
    strftime('%Y-%m-%dT%H:%M:%fZ', analysed_at / 1000.0, 'unixepoch') as analysed_at,
    events,
    strftime('%Y-%m-%dT%H:%M:%fZ', first_seen_at / 1000.0, 'unixepoch') as first_seen_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', last_seen_at / 1000.0, 'unixepoch') as last_seen_at
  from call_records;

  -- One row a join and call. The wait itself is a run that is due when the time is over.
  create table joins (
    handler  text not null,
    call_id  text not null,
    seen     text,
    settled  text,
    reruns   integer not null default 0,
    primary key (handler, call_id)
  ) without rowid;
  create index joins_of_call on joins (call_id);

  -- Who asked for events to be run again, when, why, and how many were put back; without finished_at it was
  -- cut short, and the numbers say how far it came.
  create table replays (
    id           integer primary key autoincrement,
    requested_at integer not null,
    requested_by text,
    reason       text,
    filter       text not null,
    events       integer not null default 0,
    runs         integer not null default 0,
    finished_at  integer
  );

  -- What the platform sends that is not as documented: names and counts, never a value.
  create table drift (
    event_name    text not null,
    path          text not null,
    kind          text not null,
    first_seen_at integer not null,
    last_seen_at  integer not null,
    count         integer not null,
    primary key (event_name, path, kind)
  ) without rowid;

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
