/** Functions about processes for every write about a claim. */
export const processFunctions = `
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
`;
