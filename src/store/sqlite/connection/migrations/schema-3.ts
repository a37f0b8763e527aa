import { callsSelect } from './calls-view.ts';

/** Schema 3: the events of a call are found through a table that is filled in batches, and no longer an index. */
export const schema3 = `
  drop view calls;
  drop index events_call;

  -- Where the events of a call are, by the key of the call. An era is a stretch of 65,536 sequences: keys come in no
  -- order, and those of one era are on few pages, which stay in memory however large the inbox is. Whoever looks for
  -- a call looks in every era, and through the events after indexed_sequence, which are not in here yet.
  create table call_events (
    era      integer not null,
    call_key integer not null,
    sequence integer not null,
    primary key (era, call_key, sequence)
  ) without rowid;
  alter table event_totals add column indexed_sequence integer not null default 0;
  insert into call_events
    select sequence >> 16 as era, call_key, sequence from events
    where call_key is not null order by era, call_key, sequence;
  update event_totals set indexed_sequence = last_sequence;

  -- For a person with any SQL tool: one row a call, times as ISO 8601 in UTC. It says what calls/timeline.ts tells;
  -- a test holds the two against each other.
  create view calls as
    -- Functions, no operators of a newer SQL: a tool that can't parse a view can't open the file. Each call is told by
    -- itself, through the index: the first rows come at once, and nobody sorts the whole inbox. What is not in the
    -- index yet is looked through once, and then for the calls that are in it: event_totals, one row, comes first in
    -- those joins, so that what holds for all calls is asked once. A plus keeps a condition from choosing the path.
    -- Whatever stands out among a call's events is found by its place in event time, which goes before the facts
    -- that it brings along.
    ${callsSelect}
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
    ))) told
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
