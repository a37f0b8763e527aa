import { isOpen } from '../work/open-runs.ts';

/** The state of an event `e`. It follows from the rows of other tables, so that no column has to be kept up to date. */

/** SQL: the event waits to be claimed, or is claimed. */
export const isNewEvent = `(exists (select 1 from waiting w where w.sequence = e.sequence)
  or exists (select 1 from claims c where c.sequence = e.sequence))`;

const hasOpenRuns = `exists (select 1 from runs r where r.sequence = e.sequence and r.${isOpen})`;

export const eventState = `case when ${isNewEvent} then 'new' when ${hasOpenRuns} then 'open' else 'done' end`;
