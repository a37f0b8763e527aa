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

  -- How much is in quarantine, kept by triggers, so that in a flood no insert has to count the rows, and how many
  -- unauthenticated ones were dropped, ever.
  create table ringback.quarantine_totals (
    kind    text primary key,
    count   bigint not null default 0,
    bytes   bigint not null default 0,
    dropped bigint not null default 0
  );
  insert into ringback.quarantine_totals (kind) values ('not_authentic'), ('unreadable');
  create function ringback.count_quarantine() returns trigger language plpgsql as $function$
  begin
    if tg_op <> 'INSERT' then
      update ringback.quarantine_totals
      set count = count - 1, bytes = bytes - octet_length(old.body) - octet_length(old.headers) where kind = old.kind;
    end if;
    if tg_op <> 'DELETE' then
      update ringback.quarantine_totals
      set count = count + 1, bytes = bytes + octet_length(new.body) + octet_length(new.headers) where kind = new.kind;
    end if;
    return null;
  end $function$;
  create trigger quarantine_counted after insert or update or delete on ringback.quarantine
    for each row execute function ringback.count_quarantine();

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
