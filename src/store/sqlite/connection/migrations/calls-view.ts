/**
 * A view for people with an SQL tool: one row for each call, times as ISO 8601 in UTC. It must agree with
 * `calls/timeline.ts`; a test compares the two.
 */
export const callsView = `create view calls as
    -- Uses no operators of a newer SQL, because a tool that can't parse a view can't open the file. Each call is computed
    -- by itself, through the index: the first rows come at once, without sorting the whole inbox. Events that are not
    -- indexed yet are scanned once, and then only for the calls that have one: event_totals, which has one row, comes
    -- first in those joins, so that conditions without the joined events are evaluated before these are read. A unary
    -- plus keeps a condition from choosing the index. min() and max() find the first and the last event of a kind by
    -- its place in event time: 12 digits before its facts, which substr() cuts off.
    select
      first.call_id,
      json_extract(reported.value, '$.organization.organizationId') as organization_id,
      json_extract(reported.value, '$.agent.agentId') as agent_id,
      case
        when json_extract(reported.value, '$.analysis') is not null then 'analysed'
        when json_extract(reported.value, '$.transfer') is not null
          and json_extract(reported.value, '$.transfer.status') is not 'failed' then 'transferred'
        when json_extract(reported.value, '$.hasEnded') then 'ended'
        else 'in_progress'
      end as status,
      strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(json_extract(reported.value, '$.start.at'),
        json_extract(reported.value, '$.begin.callStart')) / 1000.0, 'unixepoch') as started_at,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(reported.value, '$.end.at') / 1000.0, 'unixepoch') as ended_at,
      case
        when json_extract(reported.value, '$.start.source') = 'body' and json_extract(reported.value, '$.end.source') = 'body'
          and json_extract(reported.value, '$.end.at') >= json_extract(reported.value, '$.start.at')
        then json_extract(reported.value, '$.end.at') - json_extract(reported.value, '$.start.at')
      end as duration_ms,
      json_extract(reported.value, '$.transfer.destination') as transfer_destination,
      json_extract(reported.value, '$.transfer.status') as transfer_status,
      json_extract(reported.value, '$.transfer.reason') as transfer_reason,
      json_extract(reported.value, '$.transfer.sentiment') as transfer_sentiment,
      strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(json_extract(reported.value, '$.transfer.callEnd'),
        json_extract(reported.value, '$.transfer.at')) / 1000.0, 'unixepoch') as transferred_at,
      json_extract(reported.value, '$.analysis.status') as analysis_status,
      json_extract(reported.value, '$.analysis.reason') as analysis_reason,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(reported.value, '$.analysis.at') / 1000.0, 'unixepoch') as analysed_at,
      json_extract(reported.value, '$.events') as events,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(reported.value, '$.firstSeenAt') / 1000.0, 'unixepoch') as first_seen_at,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(reported.value, '$.lastSeenAt') / 1000.0, 'unixepoch') as last_seen_at
    from events first, json_each(json_array((
      select json_object(
        'organization', json(substr(min(case when organization_id is not null then placed end), 13)),
        'agent', json(substr(min(case when agent_id is not null then placed end), 13)),
        'begin', json(substr(min(case when json_extract(facts, '$.callStart') is not null then placed end), 13)),
        'start', json(substr(min(case when event_name = 'CallHandler.CallStarted' and has_time then placed end), 13)),
        'end', json(substr(max(case when event_name = 'CallHandler.CallEnded' and has_time then placed end), 13)),
        'transfer', json(substr(max(case when event_name = 'CallHandler.CallTransferred' then placed end), 13)),
        'analysis', json(substr(max(case when event_name = 'callAnalysis.pcaCompleted' then placed end), 13)),
        'hasEnded', max(event_name = 'CallHandler.CallEnded'),
        'events', count(*),
        'firstSeenAt', min(received_at),
        'lastSeenAt', max(received_at))
      from (
        select event_name, organization_id, agent_id, received_at, facts,
          json_extract(facts, '$.source') is not 'arrival' as has_time,
          printf('%012d', row_number() over (order by occurred_at, trace_id))
            || json_set(facts, '$.at', occurred_at, '$.organizationId', organization_id, '$.agentId', agent_id) as placed
        from (
          select trace_id, event_name, organization_id, agent_id, occurred_at, received_at, facts,
            row_number() over (partition by trace_id order by received_at, sequence) as copy
          from events where call_id = first.call_id and sequence in (
            with recursive eras (era) as (
              select max(era) from call_events
              union all
              select (select max(era) from call_events where era < eras.era) from eras where era is not null
            )
            select i.sequence from eras cross join call_events i on i.era = eras.era and i.call_key = first.call_key
            union all
            select late.sequence from event_totals cross join events late
            where late.sequence > indexed_sequence and +late.call_key = first.call_key
              and first.call_key in (
                select call_key from events where sequence > (select indexed_sequence from event_totals))
          )
        ) where copy = 1
      )
    ))) reported
    where first.call_id is not null
      and (+first.sequence <= (select indexed_sequence from event_totals) or +first.sequence in (
        select min(sequence) from events
        where sequence > (select indexed_sequence from event_totals) and call_id is not null group by call_id))
      and not exists (
        with recursive eras (era) as (
          select max(era) from call_events
          union all
          select (select max(era) from call_events where era < eras.era) from eras where era is not null
        )
        select 1 from event_totals cross join eras
          cross join call_events i on i.era = eras.era and i.call_key = first.call_key
          cross join events earlier on earlier.sequence = i.sequence and earlier.call_id = first.call_id
        where eras.era <= first.sequence >> 16 and i.sequence < first.sequence);
`;
