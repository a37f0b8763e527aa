import { isOpen } from '../work/open-runs.ts';

/** How far an event `e` has come follows from the rows of other tables: there is no column to be kept up to date. */

/** SQL: 1 while the event is to be handled, whether a process has claimed it or none. */
export const isNewEvent = `(exists (select 1 from waiting w where w.sequence = e.sequence)
  or exists (select 1 from claims c where c.sequence = e.sequence))`;

/** SQL: 1 while stored runs of the event are open. */
const hasOpenRuns = `exists (select 1 from runs r where r.sequence = e.sequence and r.${isOpen})`;

/** SQL: the event's state. */
export const eventState = `case when ${isNewEvent} then 'new' when ${hasOpenRuns} then 'open' else 'done' end`;
