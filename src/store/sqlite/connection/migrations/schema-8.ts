/** Schema 8: of each event over which a process has died, what shows whether it is the event that killed. */
export const schema8 = `
  -- The process that last began to try the event by itself, and whether it is reading it at present: only if that
  -- process dies is the event blamed again. And how many processes have died while they read the event.
  alter table takeovers add column tried_by integer;
  alter table takeovers add column being_read integer not null default 0;
  alter table takeovers add column reading_crashes integer not null default 0;
`;
