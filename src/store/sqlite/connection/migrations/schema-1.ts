import { callsView } from './calls-view.ts';

/** Schema 1: everything that the inbox keeps. */
export const schema1 = `
  -- One row for each event, written once and never changed; the tables below keep its state. Has nothing large, so that
  -- scans don't read bodies. call_key is a hash of call_id: an index of random keys costs more than all else that an
  -- event writes, and integers keep it small. Two calls may share a key, so searches by it must compare call_id as well.
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
    facts           text not null,
    -- Null: it was delivered, as nearly all events are.
    source          text check (source = 'reconciled')
  );
  create index events_received on events (received_at);

  -- The raw bytes of each event, so that it can be decoded again.
  create table bodies (
    sequence integer primary key,
    headers  text not null,
    body     blob not null
  );

  -- An index of events by call. An era is a stretch of 65,536 sequences: keys come in random order, and those of one era
  -- are on few pages, which stay in memory however large the inbox is. A search for a call must go through every era,
  -- and scan the events after indexed_sequence, which are not in here yet.
  create table call_events (
    era      integer not null,
    call_key integer not null,
    sequence integer not null,
    primary key (era, call_key, sequence)
  ) without rowid;

  -- The last sequence that was given, the number of events, which would take seconds to count, and the sequence up to
  -- which events are in call_events.
  create table event_totals (
    last_sequence    integer not null,
    events           integer not null,
    indexed_sequence integer not null
  );
  insert into event_totals values (0, 0, 0);

  -- New events: unclaimed ones in waiting, claimed ones in claims, most of them for some milliseconds. An event in
  -- neither is open while it has open runs, and done after that.
  create table waiting (
    sequence integer primary key
  );
  create table claims (
    sequence integer primary key,
    process  integer not null
  );

  -- Events that a process held when it died, to find out which one killed it; most events have no row. tried_by is the
  -- process that last began to try the event by itself: a further crash counts only if that process dies. being_read:
  -- it is reading the event now. reading_crashes: how many processes died while they read the event.
  create table crash_counts (
    sequence        integer primary key,
    count           integer not null,
    tried_by        integer,
    being_read      integer not null default 0,
    reading_crashes integer not null default 0
  );

  -- Digests of the identities by which duplicates are found. They come in random order: in one tree, each would be
  -- written to a page of its own, of a tree as large as the inbox. So they are divided by era, a stretch of 65,536
  -- sequences. New ones go into the latest era, where the primary key decides on duplicates, in the insert itself; the
  -- same transaction searches the earlier eras, which gain no more. Identities of a removed event stay as tombstones
  -- until they expire, so that a late copy is still a duplicate.
  create table identities (
    era        integer not null,
    identity   blob not null,
    sequence   integer,
    expires_at integer,
    primary key (era, identity)
  ) without rowid;
  create index identities_expired on identities (expires_at) where expires_at is not null;

  -- Bloom filters of earlier eras: each rules out nearly all identities that are not in its era.
  create table identity_filters (
    era  integer primary key,
    bits blob not null
  );

  -- How many duplicates of an event have arrived, and when the first and the last did; most events have no row.
  create table duplicates (
    sequence      integer primary key,
    count         integer not null,
    first_seen_at integer not null,
    last_seen_at  integer not null
  );

  -- One row for each run that has something to remember; most runs have none.
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
    -- The fingerprint of its last failure, until the run is done.
    failure    text,
    primary key (sequence, handler)
  ) without rowid;
  create index runs_due on runs (handler, due_at, sequence) where state = 'due';
  create index runs_claimed on runs (claimed_by) where claimed_by is not null;
  create index runs_open_by_call on runs (call_id, handler, sequence) where state in ('due', 'claimed', 'blocked');
  create index runs_dead on runs (settled_at) where state = 'dead';
  create index runs_dead_of_call on runs (call_id) where state = 'dead' and call_id is not null;
  create index runs_failed on runs (failure, state, settled_at) where failure is not null;

  -- The latest failed attempts of each run, numbered in order.
  create table failures (
    sequence integer not null,
    handler  text not null,
    number   integer not null,
    attempt  integer not null,
    at       integer not null,
    duration integer not null,
    outcome  text not null check (outcome in ('retry', 'dead')),
    cause    text not null,
    location text,
    reason   text not null,
    primary key (sequence, handler, number)
  ) without rowid;

  -- Groups of failures that are alike; runs.failure is the fingerprint.
  create table failure_groups (
    id            integer primary key autoincrement,
    fingerprint   text not null unique,
    handler       text not null,
    cause         text not null,
    location      text,
    message       text not null,
    first_seen_at integer not null,
    muted_at      integer
  );

  -- Due runs that no attempt has begun: later events of the call don't overtake them, unless the order is none.
  create index runs_unbegun_by_call on runs (call_id, handler, sequence) where state = 'due' and attempts = 0;
  create index runs_blocked on runs (handler, call_id, sequence) where state = 'blocked';

  -- Deliveries kept but not handled. cut_from: the size of the whole body, if only its beginning is here. It comes before
  -- headers and body, because what comes after them could be read only by going through their pages.
  create table quarantine (
    id          integer primary key autoincrement,
    kind        text not null check (kind in ('not_authentic', 'unreadable')),
    reason      text not null,
    digest      text not null,
    received_at integer not null,
    trace_id    text,
    cut_from    integer,
    headers     text not null,
    body        blob not null
  );
  create unique index quarantine_unreadable on quarantine (digest) where kind = 'unreadable';
  create index quarantine_not_authentic on quarantine (id) where kind = 'not_authentic';
  create index quarantine_received on quarantine (received_at);

  -- How much is in quarantine, kept by triggers, and how many unauthenticated deliveries were ever dropped.
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

  -- The processes that share this file. Each counts its heartbeats, and marks its claims with its id. is_dead: another
  -- one has found the file open nowhere. handlers: the names of its handlers, as JSON, once it has announced them.
  create table processes (
    id         integer primary key autoincrement,
    heartbeats integer not null default 0,
    is_dead    integer not null default 0,
    handlers   text,
    host       text,
    pid        integer,
    entered_at integer
  );

  -- One row for each join and call. The wait itself is a run that is due at the timeout. progress, as JSON: the events
  -- that the join waits for, those that are missing, and the sequence up to which events were searched for them.
  create table joins (
    handler  text not null,
    call_id  text not null,
    seen     text,
    settled  text,
    reruns   integer not null default 0,
    progress text,
    replay   integer,
    primary key (handler, call_id)
  ) without rowid;
  create index joins_of_call on joins (call_id);

  -- What people have done to the inbox: who, when, why, and how many events and runs it changed. Without finished_at, it
  -- is running or was cut short, and the numbers are those so far. Runs that a replay has requeued carry its id.
  create table audit (
    id           integer primary key autoincrement,
    action       text not null,
    requested_at integer not null,
    requested_by text,
    reason       text,
    what         text not null,
    events       integer not null default 0,
    runs         integer not null default 0,
    finished_at  integer,
    begun_after  integer,
    up_to        integer,
    reached      integer,
    handlers     text,
    stopped_at   integer
  );
  create index audit_running on audit (id) where up_to is not null and finished_at is null;

  -- Counts by minute and by hour, of all processes: names and numbers only. Without a handler's name (''), they are
  -- those of the receiver as a whole. By handler first: whoever reads the one kind passes none of the other.
  create table history (
    resolution text not null,
    handler    text not null,
    at         integer not null,
    name       text not null,
    count      integer not null,
    primary key (resolution, handler, at, name)
  ) without rowid;

  -- Raised alerts: when each was last sent (sent_at), last notified somebody (0: never), and was last found to hold.
  create table alerts (
    name        text not null,
    subject     text not null,
    since       integer not null,
    sent_at     integer not null,
    notified_at integer not null,
    found_at    integer not null,
    message     text not null,
    primary key (name, subject)
  ) without rowid;

  -- How deliveries differ from what the platform documents: names and counts, never a value.
  create table drift (
    event_name    text not null,
    path          text not null,
    kind          text not null,
    first_seen_at integer not null,
    last_seen_at  integer not null,
    count         integer not null,
    primary key (event_name, path, kind)
  ) without rowid;

  -- Handlers that no process runs until they are resumed.
  create table paused_handlers (
    handler   text primary key,
    since     integer not null,
    paused_by text,
    reason    text
  ) without rowid;

  -- When the next attempt of a handler with a rate may begin, in whichever process.
  create table handler_rates (
    handler text primary key,
    next_at real not null
  ) without rowid;

  create table settings (
    name  text primary key,
    value text not null
  ) without rowid;

  ${callsView}
`;
