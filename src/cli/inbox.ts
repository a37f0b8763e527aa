import type { Command } from 'commander';
import { addDismiss } from './inbox/dismiss.ts';
import { addEvent } from './inbox/event.ts';
import { addEvents } from './inbox/events.ts';
import { addQuarantine } from './inbox/quarantine.ts';
import { addReplay } from './inbox/replay.ts';

/** Adds `ringback inbox` with its commands. */
export function addInbox(program: Command): void {
  const inbox = program
    .command('inbox')
    .description('look into the inbox, see why a run failed, run events again, and dismiss runs');
  addEvents(inbox);
  addEvent(inbox);
  addReplay(inbox);
  addDismiss(inbox);
  addQuarantine(inbox);
}
