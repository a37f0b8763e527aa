/** Schema 5: an index tells what an event has to wait for, however many runs of its call wait. */
export const schema5 = `
  -- Runs that no attempt has begun, by the time when they are due: the latest of them is what a further event of the call
  -- follows.
  create index runs_unbegun_by_call on runs (call_id, handler, due_at) where state = 'due' and attempts = 0;
`;
