/** Schema 6: runs that wait for an earlier one of their call are found without going through all that are open. */
export const schema6 = `
  create index runs_blocked on runs (handler, call_id, sequence) where state = 'blocked';
`;
