import type { Command } from 'commander';
import { addCall } from './inbox/call.ts';
import { addCalls } from './inbox/calls.ts';
import { addCounts } from './inbox/counts.ts';
import { addDelivery } from './inbox/delivery.ts';
import { addDiscard } from './inbox/discard.ts';
import { addDismiss } from './inbox/dismiss.ts';
import { addDrift } from './inbox/drift.ts';
import { addErase } from './inbox/erase.ts';
import { addEvent } from './inbox/event.ts';
import { addEvents } from './inbox/events.ts';
import { addQuarantine } from './inbox/quarantine.ts';
import { addRelease, addReverify } from './inbox/release.ts';
import { addReplay } from './inbox/replay.ts';

/** Adds `ringback inbox` with its commands. */
export function addInbox(program: Command, exitWith: (code: number) => void): void {
  const inbox = program
    .command('inbox')
    .description('look into the inbox, see why a run failed, run events again, dismiss runs, and erase');
  addCounts(inbox);
  addEvents(inbox);
  addEvent(inbox);
  addReplay(inbox, exitWith);
  addDismiss(inbox);
  addCalls(inbox);
  addCall(inbox);
  addDrift(inbox);
  addQuarantine(inbox);
  addDelivery(inbox);
  addReverify(inbox);
  addRelease(inbox);
  addDiscard(inbox);
  addErase(inbox);
}
