/**
 * The select of the view "calls" in schema 2 and 3, without the part that finds the events of a call. Databases in
 * the field have been through these migrations, so this text is never edited either: a later schema that changes the
 * view has a text of its own.
 */
export const callsSelect = `select
      first.call_id,
      json_extract(told.value, '$.organization.organizationId') as organization_id,
      json_extract(told.value, '$.agent.agentId') as agent_id,
      case
        when json_extract(told.value, '$.analysis') is not null then 'analysed'
        when json_extract(told.value, '$.transfer') is not null
          and json_extract(told.value, '$.transfer.status') is not 'failed' then 'transferred'
        when json_extract(told.value, '$.hasEnded') then 'ended'
        else 'in_progress'
      end as status,
      strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(json_extract(told.value, '$.start.at'),
        json_extract(told.value, '$.begin.callStart')) / 1000.0, 'unixepoch') as started_at,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(told.value, '$.end.at') / 1000.0, 'unixepoch') as ended_at,
      case
        when json_extract(told.value, '$.start.source') = 'body' and json_extract(told.value, '$.end.source') = 'body'
          and json_extract(told.value, '$.end.at') >= json_extract(told.value, '$.start.at')
        then json_extract(told.value, '$.end.at') - json_extract(told.value, '$.start.at')
      end as duration_ms,
      json_extract(told.value, '$.transfer.destination') as transfer_destination,
      json_extract(told.value, '$.transfer.status') as transfer_status,
      json_extract(told.value, '$.transfer.reason') as transfer_reason,
      json_extract(told.value, '$.transfer.sentiment') as transfer_sentiment,
      strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(json_extract(told.value, '$.transfer.callEnd'),
        json_extract(told.value, '$.transfer.at')) / 1000.0, 'unixepoch') as transferred_at,
      json_extract(told.value, '$.analysis.status') as analysis_status,
      json_extract(told.value, '$.analysis.reason') as analysis_reason,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(told.value, '$.analysis.at') / 1000.0, 'unixepoch') as analysed_at,
      json_extract(told.value, '$.events') as events,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(told.value, '$.firstSeenAt') / 1000.0, 'unixepoch') as first_seen_at,
      strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(told.value, '$.lastSeenAt') / 1000.0, 'unixepoch') as last_seen_at
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
            row_number() over (partition by trace_id order by received_at, sequence) as copy`;
