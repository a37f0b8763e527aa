import { callsSelect } from './calls-view.ts';

/** Schema 2, the first that a release may have: everything the inbox keeps. */
export const schema2 = `
  -- One row an event, written once and never changed; what becomes of it is in the tables below. Nothing large is in
  -- it, so that looking through many events doesn't go through their bodies. The key of the call is a number made of
  -- its id: a random index costs more than everything else that an event writes, and numbers make it small. Two calls
  -- may share one, so whoever looks by it compares the id as well.
  create table events (
    sequence        integer primary key,
    trace_id        text not null,
    event_name      text not null,
    call_id         text,
    call_key        integer,
    organization_id text,
    agent_id        text,
    occurred_at     integer not null,
    received_at     integer not null,
    facts           text not null
  );
  create index events_call on events (call_key) where call_key is not null;
  create index events_received on events (received_at);

  -- The raw bytes are kept, so that whatever is read from them later can be read again.
  create table bodies (
    sequence integer primary key,
    headers  text not null,
    body     blob not null
  );

  -- The last sequence that was given, and how many events there are: counting them would take seconds.
  create table event_totals (
    last_sequence integer not null,
    events        integer not null
  );
  insert into event_totals values (0, 0);

  -- New events: those that no process has claimed, and those that one has. An event that is in neither is open while
  -- runs of it are, and done after. Most events are here for some milliseconds.
  create table waiting (
    sequence integer primary key
  );
  create table claims (
    sequence integer primary key,
    process  integer not null
  );

  -- How many processes died while they held an event; most events have no row.
  create table takeovers (
    sequence integer primary key,
    count    integer not null
  );

  -- What an event is recognized by: digests of its identities, of one short size. The primary key decides on
  -- duplicates, in the insert itself. When the event is gone its identities stay as tombstones until they expire, so
  -- that a late copy is a duplicate.
  create table identities (
    identity   blob primary key,
    sequence   integer,
    expires_at integer
  ) without rowid;
  create index identities_expired on identities (expires_at) where expires_at is not null;

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

  -- The processes that share this file. A process that lives counts its heartbeats; claims carry its id.
  create table processes (
    id       integer primary key autoincrement,
    identity text not null,
    heartbeats    integer not null default 0
  );

  -- For a person with any SQL tool: one row a call, times as ISO 8601 in UTC. It says what calls/timeline.ts tells;
  -- a test holds the two against each other.
  create view calls as
    -- Functions, no operators of a newer SQL: a tool that can't parse a view can't open the file. Each call is told by
    -- itself, through the index: the first rows come at once, and nobody sorts the whole inbox. Whatever stands out
    -- among a call's events is found by its place in event time, which goes before the facts that it brings along.
    ${callsSelect}
          from events where call_key = first.call_key and call_id = first.call_id
        ) where copy = 1
      )
    ))) told
    where first.call_id is not null and not exists (
      select 1 from events earlier
      where earlier.call_key = first.call_key and earlier.call_id = first.call_id
        and earlier.sequence < first.sequence);

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

  -- Who asked for events to be run again, when, why, and how many were requeued; without finished_at it was
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
`;
