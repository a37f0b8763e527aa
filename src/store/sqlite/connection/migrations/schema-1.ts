import { callsView } from './calls-view.ts';

/** Schema 1: everything that the inbox keeps. */
export const schema1 = `
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
    facts           text not null,
    -- Null: it was delivered, as nearly all are.
    source          text check (source = 'reconciled')
  );
  create index events_received on events (received_at);

  -- The raw bytes are kept, so that whatever is read from them later can be read again.
  create table bodies (
    sequence integer primary key,
    headers  text not null,
    body     blob not null
  );

  -- Where the events of a call are, by the key of the call. An era is a stretch of 65,536 sequences: keys come in no
  -- order, and those of one era are on few pages, which stay in memory however large the inbox is. Whoever looks for
  -- a call looks in every era, and through the events after indexed_sequence, which are not in here yet.
  create table call_events (
    era      integer not null,
    call_key integer not null,
    sequence integer not null,
    primary key (era, call_key, sequence)
  ) without rowid;

  -- The last sequence that was given, how many events there are, because counting them would take seconds, and up to
  -- which sequence call_events goes.
  create table event_totals (
    last_sequence    integer not null,
    events           integer not null,
    indexed_sequence integer not null
  );
  insert into event_totals values (0, 0, 0);

  -- New events: those that no process has claimed, and those that one has. An event that is in neither is open while
  -- runs of it are, and done after. Most events are here for some milliseconds.
  create table waiting (
    sequence integer primary key
  );
  create table claims (
    sequence integer primary key,
    process  integer not null
  );

  -- Of each event over which a process has died, what shows whether it is the event that killed; most events have no
  -- row. The process that last began to try the event by itself, and whether it is reading it at present: only if that
  -- process dies is the event blamed again. And how many processes have died while they read the event.
  create table crash_counts (
    sequence        integer primary key,
    count           integer not null,
    tried_by        integer,
    being_read      integer not null default 0,
    reading_crashes integer not null default 0
  );

  -- What an event is recognized by: digests of its identities, of one short size. They come in no order: in one tree for
  -- all of them each would be written on a page of its own, of a tree as large as the inbox. An era is a stretch of
  -- 65,536 sequences. New ones go into the latest, where the primary key decides on duplicates, in the insert itself; the
  -- earlier ones no longer change, but that identities are forgotten, and are looked into by the same transaction. When
  -- the event is gone its identities stay as tombstones until they expire, so that a late copy is a duplicate.
  create table identities (
    era        integer not null,
    identity   blob not null,
    sequence   integer,
    expires_at integer,
    primary key (era, identity)
  ) without rowid;
  create index identities_expired on identities (expires_at) where expires_at is not null;

  -- For each of the earlier eras a filter, which says of nearly all identities that are not in it that they are not.
  create table identity_filters (
    era  integer primary key,
    bits blob not null
  );

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
    -- The fingerprint of its last failure, until it is done.
    failure    text,
    primary key (sequence, handler)
  ) without rowid;
  create index runs_due on runs (handler, due_at, sequence) where state = 'due';
  create index runs_claimed on runs (claimed_by) where claimed_by is not null;
  create index runs_open_by_call on runs (call_id, handler, sequence) where state in ('due', 'claimed', 'blocked');
  create index runs_dead on runs (settled_at) where state = 'dead';
  create index runs_dead_of_call on runs (call_id) where state = 'dead' and call_id is not null;
  create index runs_failed on runs (failure, state, settled_at) where failure is not null;

  -- Every failed attempt: the latest of each run, numbered in their order.
  create table failures (
    sequence integer not null,
    handler  text not null,
    number   integer not null,
    attempt  integer not null,
    at       integer not null,
    duration integer not null,
    outcome  text not null check (outcome in ('retry', 'dead')),
    cause    text not null,
    place    text,
    reason   text not null,
    primary key (sequence, handler, number)
  ) without rowid;

  -- Failures that are alike. Which runs have failed so, the runs say.
  create table failure_groups (
    id            integer primary key autoincrement,
    fingerprint   text not null unique,
    handler       text not null,
    cause         text not null,
    place         text,
    message       text not null,
    first_seen_at integer not null,
    muted_at      integer
  );
  -- Runs that no attempt has begun, by the time when they are due: the latest of them is what a further event of the call
  -- follows.
  create index runs_unbegun_by_call on runs (call_id, handler, sequence) where state = 'due' and attempts = 0;
  create index runs_blocked on runs (handler, call_id, sequence) where state = 'blocked';

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

  -- The size of the whole body, where the quarantine has only its head. In a table of its own: a column behind the body
  -- could be read only by going through the body's pages.
  create table quarantine_cut (
    id   integer primary key,
    size integer not null
  );
  create trigger quarantine_cut_removed after delete on quarantine begin
    delete from quarantine_cut where id = old.id;
  end;

  -- How much is in quarantine, kept by whatever adds or removes, and how many unauthenticated ones were dropped, ever.
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
    id         integer primary key autoincrement,
    identity   text not null,
    heartbeats integer not null default 0
  );

  -- One row a join and call. The wait itself is a run that is due when the time is over. The progress, as JSON: the events
  -- that the join waits for, which of them are missing, and up to which sequence that was looked at.
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

  -- What people have done to the inbox: who, when, why, and how much was changed. Without finished_at it was cut short, and
  -- the numbers say how far it came. Runs that a replay has requeued carry its id.
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
    up_to        integer,
    reached      integer,
    handlers     text,
    stopped_at   integer
  );
  create index audit_running on audit (id) where up_to is not null and finished_at is null;

  -- How much has happened, by minute and by hour, in all processes: names and numbers only.
  create table history (
    resolution text not null,
    at         integer not null,
    name       text not null,
    count      integer not null,
    primary key (resolution, at, name)
  ) without rowid;

  -- Which alerts are raised, when a process last told of each, when one last notified somebody, and when one last found it.
  create table alerts (
    name        text not null,
    subject     text not null,
    since       integer not null,
    told_at     integer not null,
    notified_at integer not null,
    found_at    integer not null,
    message     text not null,
    primary key (name, subject)
  ) without rowid;

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

  -- Handlers that no process runs until they are resumed.
  create table paused_handlers (
    handler   text primary key,
    since     integer not null,
    paused_by text,
    reason    text
  ) without rowid;

  -- When the next attempt of a handler with a rate may begin, in all processes.
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
