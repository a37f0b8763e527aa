/** The state of an event `e`. It follows from the rows of other tables, so that no column has to be kept up to date. */

import { maxRangeLength } from '../work/ranges.ts';

/** SQL: the run is to be run, or running. */
export const isOpen = "state in ('due', 'claimed', 'blocked')";

/** SQL: the event waits to be claimed, or is claimed. */
export const isNewEvent = `(exists (select from ringback.waiting w where w.sequence = e.sequence)
  or exists (select from ringback.claims c where c.sequence = e.sequence)
  or exists (
    select from ringback.processes p where p.id = e.owner
      and (e.sequence > p.ended_up_to or e.sequence = any (p.still_owned)) and not exists (
      select from ringback.ended x where x.process = p.id
        and x.first <= e.sequence and x.first > e.sequence - ${maxRangeLength} and x.last >= e.sequence
      order by x.first desc offset 0)))`;

const hasOpenRuns = `exists (
  select from ringback.runs r where r.sequence = e.sequence and r.${isOpen})`;

export const eventState = `case when ${isNewEvent} then 'new' when ${hasOpenRuns} then 'open' else 'done' end`;
