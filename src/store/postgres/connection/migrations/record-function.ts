/**
 * Records a group of events in one round trip. The primary key of `identities` decides on duplicates. The process that
 * records an event also claims it, unless something of its call goes before it.
 */
export const recordFunction = `
  -- Ends claims: on ranges of owned events, and on events in claims. Returns whether the process lives, without which all
  -- of them are lost, and which of those in claims it still held.
  create function ringback.end_claims(
    ender bigint, firsts bigint[], lasts bigint[], in_claims bigint[], out lives boolean, out held bigint[]
  ) language plpgsql set plan_cache_mode = force_generic_plan as $function$
  #variable_conflict use_column
  begin
    lives := ringback.lives(ender);
    held := '{}';
    if lives and cardinality(firsts) > 0 then
      insert into ringback.ended (process, first, last)
      select ender, firsts[n], lasts[n] from generate_subscripts(firsts, 1) as s (n);
    end if;
    if lives and cardinality(in_claims) > 0 then
      with ended as (
        delete from ringback.claims where process = ender and sequence = any (in_claims) returning sequence
      )
      select coalesce(array_agg(sequence), '{}') into held from ended;
    end if;
  end $function$;

  -- Records a group of events. Also ends claims on owned events, so that under load these need no transaction of their
  -- own. Each connection plans the statements once, when the tables may be empty, and keeps the plans when they are
  -- large: hence no sequential scans.
  create function ringback.record_events(
    recorder bigint, known_recoveries bigint, keys bytea[], lookups bytea[], trace_ids text[], event_names text[], call_ids text[],
    organization_ids text[], agent_ids text[], occurred_ats bigint[], received_ats bigint[], all_facts text[],
    all_headers text[], contents bytea[], may_claim boolean[], source text, reconciled bytea[],
    ended_firsts bigint[], ended_lasts bigint[],
    out lives boolean, out new_places integer[], out claimed_places integer[], out sequences bigint[], out lacks_keys boolean
  ) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $function$
  #variable_conflict use_column
  declare
    may_own boolean;
    may_claim_all boolean;
    free_calls text[];
    busy_calls text[];
    has_reconciled boolean;
    taken integer[];
    added integer;
  begin
    -- An acknowledged delivery survives a crash and a failover, whatever the default of the database is.
    if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
      perform set_config('synchronous_commit', 'on', true);
    end if;

    -- 1. Three locks, before anything is written. recordings: the process doesn't recover while this statement runs, which
    -- it may still do after its connection is lost. reconciling: no reconciled event is being recorded. processes: the
    -- process isn't taken over meanwhile. It claims nothing if it was already taken over, or has recovered since it sent
    -- this: it would not learn of the claim.
    lives := false;
    may_own := false;
    lacks_keys := false;
    if recorder is null then
      perform pg_advisory_xact_lock_shared(hashtextextended('ringback.reconciling', 0));
    else
      -- The third is that of lives(), which is inlined here: a nested call takes as long as a statement.
      perform pg_advisory_xact_lock_shared(hashtextextended('ringback.recordings', recorder)),
        pg_advisory_xact_lock_shared(hashtextextended('ringback.reconciling', 0)),
        pg_advisory_xact_lock_shared(hashtextextended('ringback.processes', recorder));
      select p.recoveries = known_recoveries into may_own from ringback.processes p where p.id = recorder;
      lives := found;
    end if;

    select array(select nextval('ringback.sequences') from generate_subscripts(keys, 1)),
      exists (select from ringback.settings where name = 'reconciled')
    into sequences, has_reconciled;

    -- 2. A delivery of an event that was reconciled is a duplicate. Most inboxes have no reconciled events, so the process
    -- sends the keys that find them only after lacks_keys has asked for them.
    taken := '{}';
    if has_reconciled then
      lacks_keys := reconciled is null;
      if lacks_keys then return; end if;
      taken := array(
        select n from generate_subscripts(reconciled, 1) as s (n)
        where exists (select from ringback.identities where identity = reconciled[n]));
    end if;

    -- 3. Ends claims.
    if lives and cardinality(ended_firsts) > 0 then
      insert into ringback.ended (process, first, last)
      select recorder, ended_firsts[n], ended_lasts[n] from generate_subscripts(ended_firsts, 1) as s (n);
    end if;

    -- 4. Finds out which events are new. Every group inserts in the order of the keys, so that two with copies of the same
    -- deliveries don't deadlock.
    insert into ringback.identities (identity, sequence)
    select keys[n], sequences[n] from generate_subscripts(keys, 1) as s (n)
    where n <> all (taken) order by keys[n], n
    on conflict do nothing;
    get diagnostics added = row_count;
    -- Most groups have no duplicate, and need not find out which ones were added. Looks them up by key, one by one: a join
    -- would be planned while the table is small, and read all of it when it is large.
    if added = cardinality(sequences) then
      new_places := array(select generate_subscripts(sequences, 1));
    else
      new_places := array(
        select n from generate_subscripts(sequences, 1) as s (n)
        where (select i.sequence from ringback.identities i where i.identity = keys[n]) = sequences[n] order by n);
      -- A duplicate has a row here. Without one, a trigger or rule of the user's has kept the row out.
      if exists (
        select from generate_subscripts(keys, 1) as s (n)
        where n <> all (taken) and not exists (select from ringback.identities i where i.identity = keys[n])
      ) then raise check_violation using message = 'a row was not kept in identities'; end if;
    end if;

    -- 5. Chooses the new events that the process claims.
    claimed_places := '{}';
    if may_own then
      -- Locks calls in a statement of its own: the next one has a new snapshot, and sees what the former holder of a lock
      -- has committed. Events of a call whose lock is taken go into waiting.
      free_calls := array(
        select call_id from (
          select distinct call_ids[place] as call_id from unnest(new_places) as n (place)
          where may_claim[place] and call_ids[place] is not null order by 1
        ) wanted
        where pg_try_advisory_xact_lock(hashtextextended('ringback.calls.' || wanted.call_id, 0)));

      busy_calls := array(
        select call_id from ringback.waiting where call_id = any (free_calls)
        union all select call_id from ringback.claims where call_id = any (free_calls)
        union all select call_id from ringback.runs
          where call_id = any (free_calls) and state in ('due', 'claimed', 'blocked')
        union all select call_id from ringback.owned where call_id = any (free_calls) and process <> recorder
      );

      -- The lists are unnested, so that they are hashed: "= any" would compare each call with every entry.
      may_claim_all := false <> all (may_claim);
      claimed_places := array(
        select n.place from unnest(new_places) as n (place)
        where may_claim[n.place] and (call_ids[n.place] is null or (
          call_ids[n.place] in (select unnest(free_calls)) and call_ids[n.place] not in (select unnest(busy_calls))
          -- It also waits behind an earlier event of its call in this group that goes into waiting.
          and (may_claim_all or not exists (
            select from unnest(new_places) as b (place)
            where b.place < n.place and call_ids[b.place] = call_ids[n.place] and not may_claim[b.place])))));
    end if;

    -- 6. Writes the rows. An event must not be acknowledged if a trigger or rule of the user's silently keeps a row out.
    insert into ringback.events
    select sequences[n.place], trace_ids[n.place], event_names[n.place], call_ids[n.place], organization_ids[n.place],
      agent_ids[n.place], occurred_ats[n.place], received_ats[n.place], all_facts[n.place],
      case when n.place = any (claimed_places) then recorder end, source
    from unnest(new_places) as n (place);
    get diagnostics added = row_count;
    if added < cardinality(new_places) then raise check_violation using message = 'a row was not kept in events'; end if;

    insert into ringback.bodies
    select sequences[n.place], all_headers[n.place], contents[n.place] from unnest(new_places) as n (place);
    get diagnostics added = row_count;
    if added < cardinality(new_places) then raise check_violation using message = 'a row was not kept in bodies'; end if;

    -- If another event already has a lookup key, that one keeps it: lookup keys don't decide on duplicates.
    if cardinality(array_remove(lookups, null)) > 0 then
      insert into ringback.identities (identity, sequence)
      select lookups[n.place], sequences[n.place] from unnest(new_places) as n (place)
      where lookups[n.place] is not null order by lookups[n.place], n.place
      on conflict do nothing;
    end if;

    if cardinality(claimed_places) < cardinality(new_places) then
      insert into ringback.waiting
      select sequences[n.place], call_ids[n.place] from unnest(new_places) as n (place)
      where n.place <> all (claimed_places);
      get diagnostics added = row_count;
      if added < cardinality(new_places) - cardinality(claimed_places) then
        raise check_violation using message = 'a row was not kept in waiting';
      end if;
    end if;
  end $function$;

  -- True if the same statement may record the reconciled event; false if its call has an event of its name, or was erased;
  -- null if deliveries are being recorded, and the caller must try again. The lock lets nothing else be recorded between
  -- this check and the write. Waits for it at most 20 ms, because deliveries queue behind the waiter, even if the lock is
  -- held by a process that was lost. Without any wait, a busy inbox would keep it out for seconds (measured).
  create function ringback.may_reconcile(recorder bigint, name text, call text, erased bytea) returns boolean
  language plpgsql set lock_timeout = '20ms' set enable_seqscan = off as $function$
  begin
    -- The first two locks of record_events, in the same order.
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('ringback.recordings', recorder));
      perform pg_advisory_xact_lock(hashtextextended('ringback.reconciling', 0));
    exception when lock_not_available then
      return null;
    end;
    if exists (select from ringback.events e where e.call_id = call and e.event_name = name)
      or exists (select from ringback.identities i where i.identity = erased) then
      return false;
    end if;
    -- From now on, deliveries are checked against reconciled events.
    insert into ringback.settings values ('reconciled', 'yes') on conflict do nothing;
    return true;
  end $function$;
`;
