import type { Command } from 'commander';
import { addEvent } from './inbox/event.ts';
import { addEvents } from './inbox/events.ts';
import { addQuarantine } from './inbox/quarantine.ts';
import { addReplay } from './inbox/replay.ts';

/** Adds `ringback inbox` with its four commands. */
export function addInbox(program: Command, exitWith: (code: number) => void): void {
  const inbox = program
    .command('inbox')
    .description('look into the inbox, see why a run failed, and run events again');
  addEvents(inbox);
  addEvent(inbox);
  addReplay(inbox, exitWith);
  addQuarantine(inbox);
}
