/** Schema 9: a join remembers which of its events have arrived, so that no event of a call is read for each later one. */
export const schema9 = `
  -- As JSON: the events that the join waits for, which of them are missing, and up to which sequence that was looked at.
  alter table joins add column progress text;
`;
