/** Schema 1: what is kept beside the events. */
export const adminTables = `
  -- Deliveries kept but not handled. cut_from is the size of the whole body, where only its head is kept.
  create table ringback.quarantine (
    id          bigint generated always as identity primary key,
    kind        text not null check (kind in ('not_authentic', 'unreadable')),
    reason      text not null,
    digest      text not null,
    received_at bigint not null,
    headers     text not null,
    body        bytea not null,
    cut_from    bigint
  );
  create unique index quarantine_unreadable on ringback.quarantine (digest) where kind = 'unreadable';
  create index quarantine_not_authentic on ringback.quarantine (id) where kind = 'not_authentic';
  create index quarantine_received on ringback.quarantine (received_at);

  -- How many unauthenticated deliveries were dropped, ever. Whoever adds one locks this row.
  create table ringback.quarantine_totals (
    dropped bigint not null default 0
  );
  insert into ringback.quarantine_totals default values;

  -- What the platform sends that is not as documented: names and counts, never a value.
  create table ringback.drift (
    event_name    text not null,
    path          text not null,
    kind          text not null,
    first_seen_at bigint not null,
    last_seen_at  bigint not null,
    count         bigint not null,
    primary key (event_name, path, kind)
  );

  create table ringback.settings (
    name  text primary key,
    value text not null
  );
`;
