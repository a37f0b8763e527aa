/**
 * Schema 1: events, and the work on them. Texts in indexes have the collation "C", which compares bytes. A language's
 * collation is slower, and when an update of the system changes it, indexes miss rows, and keys are no longer unique.
 */
export const workTables = `
  create sequence ringback.sequences;

  -- One row for each event, written once and never changed; the tables below keep its state. owner is the process that
  -- claimed it in the same write. Rows updated or deleted for each event would leave dead tuples, which vacuum can't
  -- remove while some older transaction stays open.
  create table ringback.events (
    sequence        bigint primary key,
    trace_id        text collate "C" not null,
    event_name      text not null,
    call_id         text collate "C",
    organization_id text,
    agent_id        text,
    occurred_at     bigint not null,
    received_at     bigint not null,
    facts           text not null,
    owner           bigint,
    -- Null: it was delivered, as nearly all events are.
    source          text check (source = 'reconciled')
  );
  create index events_of_call on ringback.events (call_id, sequence) where call_id is not null;
  create index events_received on ringback.events (received_at, sequence);

  -- The raw bytes of each event, so that it can be decoded again.
  create table ringback.bodies (
    sequence bigint primary key,
    headers  text not null,
    body     bytea not null
  );

  -- waiting: new events that no process has claimed. claims: those that a process claimed from waiting.
  create table ringback.waiting (
    sequence bigint primary key,
    call_id  text collate "C"
  );
  create index waiting_of_call on ringback.waiting (call_id, sequence) where call_id is not null;
  create table ringback.claims (
    sequence bigint primary key,
    process  bigint not null,
    call_id  text collate "C"
  );
  create index claims_of_call on ringback.claims (call_id) where call_id is not null;
  create index claims_of_process on ringback.claims (process);

  -- The processes that share this inbox. Every write about a claim first checks that the process still has a row here.
  -- Its claims on owned events up to ended_up_to have ended, except those in still_owned: with these, one handler that
  -- takes minutes doesn't make searches for owned events go through all events since.
  create table ringback.processes (
    id           bigint generated always as identity primary key,
    host         text not null,
    pid          bigint not null,
    entered_at   timestamptz not null default clock_timestamp(),
    heartbeat_at timestamptz not null default clock_timestamp(),
    -- How far its clock was ahead of the database's at its last heartbeat, in milliseconds.
    clock_ahead  bigint,
    handlers     text,
    ended_up_to  bigint not null default 0,
    still_owned  bigint[] not null default '{}',
    -- The number of its last heartbeat: a lower one comes late, and is ignored.
    heartbeats   bigint not null default 0,
    -- How often it has recovered: a group sent before the last recovery is recorded without claims.
    recoveries   bigint not null default 0,
    -- It gives its claims back: their takeover counts no crash.
    is_leaving   boolean not null default false
  );

  -- The id changes when transactions in flight may have been lost: because the table is unlogged, a crash empties it, and
  -- so does the promotion of a standby.
  create unlogged table ringback.incarnation (
    one boolean primary key default true check (one),
    id  uuid not null default gen_random_uuid()
  );

  -- Ranges of sequences in which the claims of a process on owned events have ended, until clear_ended() removes those
  -- that ended_up_to says as well. However many there are, a search for an event reads only the nearest before it: a
  -- range is short, and "order by" and "offset" keep the planner from comparing all events that a process owns with all
  -- its ranges.
  create table ringback.ended (
    process bigint not null,
    first   bigint not null,
    last    bigint not null check (last - first < 256)
  );
  create index ended_of_process on ringback.ended (process, first);
  -- It has no key: where all tables are published, as for change data capture, no row could be deleted without this.
  alter table ringback.ended replica identity full;

  -- Events that processes claimed as they recorded them, and still hold: for searches by event or call.
  create view ringback.owned as
    select e.sequence, e.call_id, p.id as process
    from ringback.processes p join ringback.events e
      on e.owner = p.id and (e.sequence > p.ended_up_to or e.sequence = any (p.still_owned))
    where not exists (
      select from ringback.ended x
      where x.process = p.id and x.first <= e.sequence and x.first > e.sequence - 256 and x.last >= e.sequence
      order by x.first desc offset 0);

  -- The same, for reading all of them, or those of one process. With the view above, the planner would go through all
  -- events, of which there may be ten million. "offset 0" makes it go process by process, and the upper bound, which is
  -- always true, makes it expect few events of each.
  create view ringback.all_owned as
    select e.sequence, e.call_id, p.id as process
    from ringback.processes p cross join lateral (
      select sequence, call_id from ringback.events
      where owner = p.id and sequence > p.ended_up_to and sequence <= ${Number.MAX_SAFE_INTEGER}
      union all select sequence, call_id from ringback.events
      where owner = p.id and sequence = any (p.still_owned) and sequence <= p.ended_up_to offset 0) e
    where not exists (
      select from ringback.ended x
      where x.process = p.id and x.first <= e.sequence and x.first > e.sequence - 256 and x.last >= e.sequence
      order by x.first desc offset 0);

  -- Events that a process held when it died, to find out which one killed it; most events have no row.
  create table ringback.crash_counts (
    sequence        bigint primary key,
    count           integer not null,
    tried_by        bigint,
    being_read      boolean not null default false,
    reading_crashes integer not null default 0
  );

  -- Digests of the identities by which duplicates are found. Those of a removed event stay as tombstones until they
  -- expire, so that a late copy is still a duplicate.
  create table ringback.identities (
    identity   bytea primary key,
    sequence   bigint,
    expires_at bigint
  );
  create index identities_of_event on ringback.identities (sequence) where sequence is not null;
  create index identities_expired on ringback.identities (expires_at) where expires_at is not null;

  -- One row for each run that has something to remember; most runs have none.
  create table ringback.runs (
    sequence   bigint not null,
    handler    text collate "C" not null,
    call_id    text collate "C",
    state      text collate "C" not null check (state in ('due', 'claimed', 'blocked', 'done', 'dead')),
    attempts   integer not null,
    due_at     bigint,
    claimed_by bigint,
    reason     text,
    settled_at bigint,
    replay     bigint,
    -- The fingerprint of its last failure, until the run is done.
    failure    text collate "C",
    primary key (sequence, handler)
  );
  create index runs_due on ringback.runs (handler, due_at, sequence) where state = 'due';
  create index runs_claimed on ringback.runs (claimed_by) where claimed_by is not null;
  create index runs_open_by_call on ringback.runs (call_id, handler, sequence)
    where state in ('due', 'claimed', 'blocked');
  create index runs_unbegun_by_call on ringback.runs (call_id, handler, sequence) where state = 'due' and attempts = 0;
  create index runs_blocked on ringback.runs (handler, call_id, sequence) where state = 'blocked';
  create index runs_dead on ringback.runs (settled_at) where state = 'dead';
  create index runs_dead_of_call on ringback.runs (call_id) where state = 'dead' and call_id is not null;
  create index runs_dead_by_event on ringback.runs (sequence) where state = 'dead';
  create index runs_of_replay on ringback.runs (replay, state) where replay is not null;
  create index runs_failed on ringback.runs (failure, state, settled_at, sequence) where failure is not null;

  -- How many duplicates of an event have arrived, and when the first and the last did; most events have no row.
  create table ringback.duplicates (
    sequence      bigint primary key,
    count         bigint not null,
    first_seen_at bigint not null,
    last_seen_at  bigint not null
  );

  -- Stores nothing of an event that is removed at the same time: the row would stay for ever, that of a run with its
  -- reason, which may quote the event. The insert waits for the removal, which locks the event, and then stores nothing:
  -- a settlement is lost.
  create function ringback.require_event() returns trigger language plpgsql as $function$
  begin
    perform from ringback.events where sequence = new.sequence for key share;
    if not found then return null; end if;
    return new;
  end $function$;
  create trigger runs_of_events before insert on ringback.runs
    for each row execute function ringback.require_event();
  create trigger duplicates_of_events before insert on ringback.duplicates
    for each row execute function ringback.require_event();

  -- The latest failed attempts of each run, numbered in order.
  create table ringback.failures (
    sequence bigint not null,
    handler  text collate "C" not null,
    number   integer not null,
    attempt  integer not null,
    at       bigint not null,
    duration bigint not null,
    outcome  text not null check (outcome in ('retry', 'dead')),
    cause    text not null,
    location text,
    reason   text not null,
    primary key (sequence, handler, number)
  );

  -- Groups of failures that are alike; runs.failure is the fingerprint.
  create table ringback.failure_groups (
    id            bigint generated always as identity primary key,
    fingerprint   text collate "C" not null unique,
    handler       text not null,
    cause         text not null,
    location      text,
    message       text not null,
    first_seen_at bigint not null,
    muted_at      bigint
  );

  -- One row for each join and call. The wait itself is a run that is due at the timeout.
  create table ringback.joins (
    handler  text collate "C" not null,
    call_id  text collate "C" not null,
    seen     text,
    settled  text,
    reruns   integer not null default 0,
    progress text,
    replay   bigint,
    primary key (handler, call_id)
  );
  create index joins_of_call on ringback.joins (call_id);

  -- Counts by minute and by hour, of all processes: names and numbers only. Without a handler's name (''), they are
  -- those of the receiver as a whole. By handler first: whoever reads the one kind passes none of the other.
  create table ringback.history (
    resolution text collate "C" not null,
    handler    text collate "C" not null,
    at         bigint not null,
    name       text collate "C" not null,
    count      bigint not null,
    primary key (resolution, handler, at, name)
  );

  -- Raised alerts: when each was last sent (sent_at), last notified somebody (0: never), and was last found to hold.
  create table ringback.alerts (
    name        text collate "C" not null,
    subject     text collate "C" not null,
    since       bigint not null,
    sent_at     bigint not null,
    notified_at bigint not null,
    found_at    bigint not null,
    message     text not null,
    primary key (name, subject)
  );

  -- What people have done to the inbox: who, when, why, and how many events and runs it changed. Without finished_at, it
  -- is running or was cut short, and the numbers are those so far. Runs that a replay has requeued carry its id.
  create table ringback.audit (
    id           bigint generated always as identity primary key,
    action       text not null,
    requested_at bigint not null,
    requested_by text,
    reason       text,
    what         text not null,
    events       integer not null default 0,
    runs         integer not null default 0,
    finished_at  bigint,
    begun_after  bigint,
    up_to        bigint,
    reached      bigint,
    handlers     text,
    stopped_at   bigint
  );
  create index audit_running on ringback.audit (id) where up_to is not null and finished_at is null;
`;
