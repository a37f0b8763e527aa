/** Functions about processes for every write about a claim. */
export const processFunctions = `
  -- Whether a process is still taken for alive. The shared advisory lock keeps others from taking it for dead until the
  -- transaction ends; a lock on its row would write to that row for each group.
  create function ringback.lives(process bigint) returns boolean language plpgsql as $function$
  begin
    perform pg_advisory_xact_lock_shared(hashtextextended('ringback.processes', process));
    return exists (select from ringback.processes p where p.id = process);
  end $function$;

  -- The calls of which other processes have claimed something.
  create function ringback.calls_of_others(claimer bigint) returns setof text language sql stable as $function$
    select call_id from ringback.claims where process <> claimer and call_id is not null
    union select call_id from ringback.runs where claimed_by <> claimer and call_id is not null
    union select call_id from ringback.all_owned where process <> claimer and call_id is not null
  $function$;
`;
