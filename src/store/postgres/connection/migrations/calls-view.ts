/**
 * A view for people with an SQL tool: one row for each call, times as ISO 8601 in UTC. It must agree with
 * `calls/timeline.ts`; a test compares the two.
 */
export const callsView = `
  create function ringback.iso_of(milliseconds bigint) returns text language sql stable parallel safe as $function$
    select to_char(
      timestamp 'epoch' + milliseconds * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $function$;

  -- Each call is computed by itself, through the index: the first rows come at once, without sorting the whole inbox.
  create view ringback.calls as
    select
      first.call_id,
      said.organization_id,
      said.agent_id,
      case
        when said.analysis is not null then 'analysed'
        when said.transfer is not null and said.transfer ->> 'status' is distinct from 'failed' then 'transferred'
        when said.has_ended then 'ended'
        else 'in_progress'
      end as status,
      ringback.iso_of(coalesce((said.start ->> 'at')::bigint, said.call_start)) as started_at,
      ringback.iso_of((said.ending ->> 'at')::bigint) as ended_at,
      case
        when said.start ->> 'source' = 'body' and said.ending ->> 'source' = 'body'
          and (said.ending ->> 'at')::bigint >= (said.start ->> 'at')::bigint
        then (said.ending ->> 'at')::bigint - (said.start ->> 'at')::bigint
      end as duration_ms,
      said.transfer ->> 'destination' as transfer_destination,
      said.transfer ->> 'status' as transfer_status,
      said.transfer ->> 'reason' as transfer_reason,
      said.transfer ->> 'sentiment' as transfer_sentiment,
      ringback.iso_of(coalesce((said.transfer ->> 'callEnd')::bigint, (said.transfer ->> 'at')::bigint))
        as transferred_at,
      said.analysis ->> 'status' as analysis_status,
      said.analysis ->> 'reason' as analysis_reason,
      ringback.iso_of((said.analysis ->> 'at')::bigint) as analysed_at,
      said.events,
      ringback.iso_of(said.first_seen_at) as first_seen_at,
      ringback.iso_of(said.last_seen_at) as last_seen_at
    from ringback.events first cross join lateral (
      select
        (array_agg(organization_id order by place) filter (where organization_id is not null))[1] as organization_id,
        (array_agg(agent_id order by place) filter (where agent_id is not null))[1] as agent_id,
        (array_agg((facts ->> 'callStart')::bigint order by place)
          filter (where facts ->> 'callStart' is not null))[1] as call_start,
        (array_agg(facts order by place)
          filter (where event_name = 'CallHandler.CallStarted' and has_time))[1] as start,
        (array_agg(facts order by place desc)
          filter (where event_name = 'CallHandler.CallEnded' and has_time))[1] as ending,
        (array_agg(facts order by place desc)
          filter (where event_name = 'CallHandler.CallTransferred'))[1] as transfer,
        (array_agg(facts order by place desc)
          filter (where event_name = 'callAnalysis.pcaCompleted'))[1] as analysis,
        bool_or(event_name = 'CallHandler.CallEnded') as has_ended,
        count(*) as events,
        min(received_at) as first_seen_at,
        max(received_at) as last_seen_at
      from (
        select event_name, organization_id, agent_id, received_at,
          facts || jsonb_build_object('at', occurred_at) as facts,
          facts ->> 'source' is distinct from 'arrival' as has_time,
          row_number() over (order by occurred_at, trace_id) as place
        from (
          select distinct on (trace_id) trace_id, event_name, organization_id, agent_id, occurred_at, received_at,
            facts::jsonb as facts
          from ringback.events where call_id = first.call_id order by trace_id, received_at, sequence
        ) counted_once
      ) placed
    ) said
    where first.call_id is not null and not exists (
      select from ringback.events earlier where earlier.call_id = first.call_id and earlier.sequence < first.sequence);
`;
