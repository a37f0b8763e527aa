/** Schema 1: what the inbox keeps beside events. */
export const adminTables = `
  -- Deliveries kept but not handled. trace_id is from the unverified header. cut_from is the size of the whole body, if
  -- only its beginning is kept.
  create table ringback.quarantine (
    id          bigint generated always as identity primary key,
    kind        text not null check (kind in ('not_authentic', 'unreadable')),
    reason      text not null,
    digest      text collate "C" not null,
    received_at bigint not null,
    trace_id    text,
    headers     text not null,
    body        bytea not null,
    cut_from    bigint
  );
  create unique index quarantine_unreadable on ringback.quarantine (digest) where kind = 'unreadable';
  create index quarantine_not_authentic on ringback.quarantine (id) where kind = 'not_authentic';
  create index quarantine_received on ringback.quarantine (received_at);

  -- Keeps a delivery, or finds the copy that is here already, and drops the oldest unauthenticated ones beyond the
  -- bounds. All in one round trip, because floods come through here. The lock keeps two from dropping the same ones.
  create function ringback.keep_delivery(
    new_kind text, new_reason text, new_digest text, new_received_at bigint, new_trace_id text, new_headers text,
    new_body bytea, new_cut_from bigint, skipped bigint, max_count bigint, max_bytes bigint
  ) returns table (kept bigint, dropped bigint) language plpgsql set lock_timeout = '500ms' as $function$
  #variable_conflict use_column
  declare
    kept_id bigint;
    dropped_now bigint := 0;
  begin
    -- As in record_events: an unreadable delivery is acknowledged too.
    if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
      perform set_config('synchronous_commit', 'on', true);
    end if;
    perform pg_advisory_xact_lock(hashtextextended('ringback.quarantine', 0));
    insert into ringback.quarantine (kind, reason, digest, received_at, trace_id, headers, body, cut_from)
    values (new_kind, new_reason, new_digest, new_received_at, new_trace_id, new_headers, new_body, new_cut_from)
    on conflict do nothing returning id into kept_id;
    if kept_id is null then
      select id into kept_id from ringback.quarantine where kind = 'unreadable' and digest = new_digest;
    end if;
    if new_kind = 'not_authentic' then
      with held as (
        select id, row_number() over latest as place, sum(octet_length(body) + octet_length(headers)) over latest as bytes
        from ringback.quarantine where kind = 'not_authentic' window latest as (order by id desc)
      )
      delete from ringback.quarantine where id = any (array(
        select q.id from held join ringback.quarantine q using (id)
        where place > max_count or bytes > max_bytes order by q.id for update of q));
      get diagnostics dropped_now = row_count;
      if dropped_now + skipped > 0 then
        insert into ringback.settings as s values ('quarantine_dropped', dropped_now + skipped)
        on conflict (name) do update set value = s.value::bigint + excluded.value::bigint;
      end if;
    end if;
    return query select kept_id, dropped_now;
  end $function$;

  -- How deliveries differ from what the platform documents: names and counts, never a value.
  create table ringback.drift (
    event_name    text collate "C" not null,
    path          text collate "C" not null,
    kind          text collate "C" not null,
    first_seen_at bigint not null,
    last_seen_at  bigint not null,
    count         bigint not null,
    primary key (event_name, path, kind)
  );

  -- Handlers that no process runs until they are resumed.
  create table ringback.paused_handlers (
    handler   text collate "C" primary key,
    since     bigint not null,
    paused_by text,
    reason    text
  );

  -- When the next attempt of a handler with a rate may begin, in whichever process, by the database's clock.
  create table ringback.handler_rates (
    handler text collate "C" primary key,
    next_at double precision not null
  );

  create table ringback.settings (
    name  text collate "C" primary key,
    value text not null
  );
`;
