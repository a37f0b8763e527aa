/**
 * Records a group of events in one round trip. The primary key of `identities` decides on duplicates. An event is claimed
 * by the process that records it unless something of its call goes before it.
 */
export const recordFunction = `
  -- Whether a process has not been taken for dead, and keeps it from being so until the transaction ends. A lock by number,
  -- because one on its row would write to that row for each group.
  create function ringback.lives(process bigint) returns boolean language plpgsql as $function$
  begin
    perform pg_advisory_xact_lock_shared(hashtextextended('ringback.processes', process));
    return exists (select from ringback.processes p where p.id = process);
  end $function$;

  -- Whether a process may claim what it records. It may not when it has recovered since it made the statement: it wouldn't
  -- know. Who recovers waits for what was in time.
  create function ringback.may_claim(recorder bigint, recovery bigint) returns boolean language plpgsql as $function$
  begin
    perform pg_advisory_xact_lock_shared(hashtextextended('ringback.recordings', recorder));
    return ringback.lives(recorder)
      and exists (select from ringback.processes p where p.id = recorder and p.recoveries = recovery);
  end $function$;

  create function ringback.record_events(
    recorder bigint, recovery bigint, digests bytea[], lookups bytea[], trace_ids text[], event_names text[], call_ids text[],
    organization_ids text[], agent_ids text[], occurred_ats bigint[], received_ats bigint[], all_facts text[],
    all_headers text[], contents bytea[], may_claim boolean[]
  ) returns table (place integer, sequence bigint, is_claimed boolean) language plpgsql as $function$
  #variable_conflict use_column
  declare
    numbers bigint[] := '{}';
    new_places integer[];
    free_calls text[];
    claimed_places integer[];
  begin
    -- A process that was taken for dead claims nothing any more. Before anything that may wait: should the connection be lost
    -- meanwhile, this goes on, and whoever recovers what it has recorded has to wait for it.
    if recorder is not null and not ringback.may_claim(recorder, recovery) then recorder := null; end if;

    for place in 1 .. cardinality(digests) loop
      numbers := numbers || nextval('ringback.sequences');
    end loop;

    -- In one order for all groups, so that two of them that have copies of the same deliveries don't wait for each other.
    with ours as (
      select distinct on (digest) digest, place from unnest(digests) with ordinality as d (digest, place)
      order by digest, place
    ), added as (
      insert into ringback.identities (identity, sequence)
      select digest, numbers[place] from ours order by digest
      on conflict do nothing returning identity
    )
    select coalesce(array_agg(ours.place::integer order by ours.place), '{}') into new_places
    from ours join added on added.identity = ours.digest;

    if recorder is not null then
      -- Locked in a statement of its own: the next one sees what whoever had the lock before has committed. Who doesn't get it
      -- leaves its event waiting.
      select coalesce(array_agg(wanted.call_id), '{}') into free_calls from (
        select distinct call_ids[place] as call_id from unnest(new_places) as n (place)
        where may_claim[place] and call_ids[place] is not null order by 1
      ) wanted
      where pg_try_advisory_xact_lock(hashtextextended('ringback.' || wanted.call_id, 0));

      select coalesce(array_agg(n.place), '{}') into claimed_places from unnest(new_places) as n (place)
      where may_claim[n.place] and (call_ids[n.place] is null or (
        call_ids[n.place] = any (free_calls)
        -- An event of its call in this group that waits goes before it.
        and not exists (
          select from unnest(new_places) as b (place)
          where b.place < n.place and call_ids[b.place] = call_ids[n.place] and not may_claim[b.place])
        and not exists (select from ringback.waiting w where w.call_id = call_ids[n.place])
        and not exists (select from ringback.claims c where c.call_id = call_ids[n.place])
        and not exists (
          select from ringback.runs r
          where r.call_id = call_ids[n.place] and r.state in ('due', 'claimed', 'blocked'))
        and not exists (
          select from ringback.owned o where o.call_id = call_ids[n.place] and o.process <> recorder)));
    else
      claimed_places := '{}';
    end if;

    insert into ringback.events
    select numbers[n.place], trace_ids[n.place], event_names[n.place], call_ids[n.place], organization_ids[n.place],
      agent_ids[n.place], occurred_ats[n.place], received_ats[n.place], all_facts[n.place],
      case when n.place = any (claimed_places) then recorder end
    from unnest(new_places) as n (place);

    insert into ringback.bodies
    select numbers[n.place], all_headers[n.place], contents[n.place] from unnest(new_places) as n (place);

    -- If another event has this key, that one keeps it: it decides nothing.
    insert into ringback.identities (identity, sequence)
    select distinct on (lookups[n.place]) lookups[n.place], numbers[n.place] from unnest(new_places) as n (place)
    where lookups[n.place] is not null order by lookups[n.place], n.place
    on conflict do nothing;

    insert into ringback.waiting
    select numbers[n.place], call_ids[n.place] from unnest(new_places) as n (place)
    where n.place <> all (claimed_places);

    return query select n.place, numbers[n.place], n.place = any (claimed_places) from unnest(new_places) as n (place);
  end $function$;
`;
