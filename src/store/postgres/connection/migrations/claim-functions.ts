const isNeeded = `exists (
      select from ringback.processes p where p.id = x.process and (x.last > p.ended_up_to
        or exists (select from unnest(p.still_owned) as s (sequence) where s.sequence between x.first and x.last)))`;

/** SQL functions by which a process claims events. Every write about a claim uses the first of them. */
export const claimFunctions = `
  -- Whether a process still has its row: it hasn't left, or been taken over. The shared advisory lock keeps others from
  -- taking it over until the transaction ends; a row lock would write to the row for each group.
  create function ringback.lives(process bigint) returns boolean language plpgsql as $function$
  begin
    perform pg_advisory_xact_lock_shared(hashtextextended('ringback.processes', process));
    return exists (select from ringback.processes p where p.id = process);
  end $function$;

  -- The calls of which other processes have claimed an event or a run.
  create function ringback.calls_of_others(claimer bigint) returns setof text language sql stable as $function$
    select call_id from ringback.claims where process <> claimer and call_id is not null
    union select call_id from ringback.runs where claimed_by <> claimer and call_id is not null
    union select call_id from ringback.all_owned where process <> claimer and call_id is not null
  $function$;

  -- Claims waiting events in order of arrival, and never an event before an earlier one of its call, as a query that
  -- skipped locked rows would. Leaves out calls that another process works on, and ends once the bodies have max_bytes.
  -- Without jit: before Postgres 18, a plan that can't avoid a sequential scan seems so expensive that it is compiled for
  -- seconds, each time.
  create function ringback.claim_events(claimer bigint, max_events integer, max_bytes bigint) returns setof bigint
  language plpgsql set enable_seqscan = off set jit = off as $function$
  declare
    candidates bigint[];
    free_calls text[];
  begin
    if not ringback.lives(claimer) then return; end if;
    -- Without sequential scans, because each connection plans this once, perhaps while bodies is empty.
    select array_agg(sized.sequence) into candidates from (
      select c.sequence, sum(octet_length(b.body)) over (order by c.sequence) - octet_length(b.body) as before
      from (
        select w.sequence from ringback.waiting w
        where w.call_id is null or w.call_id not in (select ringback.calls_of_others(claimer))
        order by w.sequence limit max_events
      ) c join ringback.bodies b using (sequence)
    ) sized where sized.before < max_bytes;
    if candidates is null then return; end if;

    -- Locks calls in a statement of its own: the next one has a new snapshot, and sees what the former holder of a lock
    -- has committed.
    select coalesce(array_agg(wanted.call_id), '{}') into free_calls from (
      select distinct w.call_id from ringback.waiting w
      where w.sequence = any (candidates) and w.call_id is not null order by 1
    ) wanted
    where pg_try_advisory_xact_lock(hashtextextended('ringback.calls.' || wanted.call_id, 0));

    return query
      with others as materialized (
        select call_id from ringback.calls_of_others(claimer) as o (call_id)
      ), taken as (
        select w.sequence, w.call_id from ringback.waiting w
        where w.sequence = any (candidates) and (w.call_id is null or (
          w.call_id = any (free_calls) and w.call_id not in (select call_id from others)
          -- If an earlier event of the call was committed meanwhile, both are left to the next claim.
          and not exists (
            select from ringback.waiting b
            where b.call_id = w.call_id and b.sequence < w.sequence and b.sequence <> all (candidates))))
        -- Skips events without a call that another process is claiming, and those that are being removed. No other
        -- process claims events of a call whose lock is held here.
        order by w.sequence for update skip locked
      ), begun as (
        delete from ringback.waiting w using taken t where w.sequence = t.sequence returning w.sequence, w.call_id
      )
      insert into ringback.claims (sequence, process, call_id)
      select begun.sequence, claimer, begun.call_id from begun
      returning claims.sequence;
  end $function$;

  -- Removes from ended what ended_up_to says as well, and what processes have added that are gone, once it is the larger
  -- part. If the table is free, by truncating it and adding again what is still needed, with nothing added meanwhile: the
  -- dead tuples of a delete would stay for as long as some older transaction does. A table that is in use for long, such as
  -- by a backup or by many commits of users, is not waited for, because deliveries queue behind the waiter, and a large one
  -- would keep them out for too long: of those, some rows are deleted. It runs as the owner, who alone may truncate.
  -- Without jit: for half a second, statements would be compiled while the table is locked.
  create function ringback.clear_ended() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '20ms' set jit = off
  as $function$
  declare
    max_rows constant integer := 40000;
    found_rows bigint;
    needed_rows bigint;
    needed ringback.ended[];
  begin
    -- Two at once would each wait for the other's look at the table.
    if not pg_try_advisory_xact_lock(hashtextextended('ringback.clear_ended', 0)) then return; end if;
    select count(*), count(*) filter (where ${isNeeded}) into found_rows, needed_rows
    from (select process, first, last from ringback.ended limit max_rows) x;
    if greatest(1000, 2 * needed_rows) >= found_rows then return; end if;
    if found_rows < max_rows then
      begin
        lock table ringback.ended in access exclusive mode;
        needed := array(select x from ringback.ended x where ${isNeeded});
        truncate ringback.ended;
        insert into ringback.ended select * from unnest(needed);
        return;
      exception when lock_not_available then
        null;
      end;
    end if;
    delete from ringback.ended e where e.ctid = any (array(
      select x.ctid from ringback.ended x where not ${isNeeded} limit max_rows));
  end $function$;
`;
