/** How far an event `e` has come follows from the rows of other tables: there is no column to be kept up to date. */

/** SQL: the event is to be handled, whether a process has claimed it or none. */
export const isNewEvent = `(exists (select from ringback.waiting w where w.sequence = e.sequence)
  or exists (select from ringback.claims c where c.sequence = e.sequence)
  or exists (
    select from ringback.processes p where p.id = e.owner
      and (e.sequence > p.ended_up_to or e.sequence = any (p.still_owned)) and not exists (
      select from ringback.ended x where x.process = p.id and x.first <= e.sequence and x.last >= e.sequence)))`;

/** SQL: stored runs of the event are open. */
const hasOpenRuns = `exists (
  select from ringback.runs r where r.sequence = e.sequence and r.state in ('due', 'claimed', 'blocked'))`;

/** SQL: the event's state. */
export const eventState = `case when ${isNewEvent} then 'new' when ${hasOpenRuns} then 'open' else 'done' end`;
