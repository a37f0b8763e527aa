import type { Command } from 'commander';
import { type Commands, addWanted } from './commands.ts';

const commands: Commands = {
  counts: async () => (await import('./inbox/events.ts')).addCounts,
  events: async () => (await import('./inbox/events.ts')).addEvents,
  event: async () => (await import('./inbox/events.ts')).addEvent,
  replay: async () => (await import('./inbox/replay.ts')).addReplay,
  dismiss: async () => (await import('./inbox/dismiss.ts')).addDismiss,
  failures: async () => (await import('./inbox/failures.ts')).addFailures,
  mute: async () => (await import('./inbox/failures.ts')).addMute,
  unmute: async () => (await import('./inbox/failures.ts')).addUnmute,
  handlers: async () => (await import('./inbox/handlers.ts')).addHandlers,
  pause: async () => (await import('./inbox/handlers.ts')).addPause,
  resume: async () => (await import('./inbox/handlers.ts')).addResume,
  calls: async () => (await import('./inbox/calls.ts')).addCalls,
  call: async () => (await import('./inbox/calls.ts')).addCall,
  drift: async () => (await import('./inbox/events.ts')).addDrift,
  quarantine: async () => (await import('./inbox/quarantine.ts')).addQuarantine,
  delivery: async () => (await import('./inbox/quarantine.ts')).addDelivery,
  reverify: async () => (await import('./inbox/release.ts')).addReverify,
  release: async () => (await import('./inbox/release.ts')).addRelease,
  discard: async () => (await import('./inbox/quarantine.ts')).addDiscard,
  alerts: async () => (await import('./inbox/alerts.ts')).addAlerts,
  stop: async () => (await import('./inbox/audit.ts')).addStop,
  audit: async () => (await import('./inbox/audit.ts')).addAudit,
  move: async () => (await import('./inbox/move.ts')).addMove,
  erase: async () => (await import('./inbox/erase.ts')).addErase,
};

/** Adds `ringback inbox` with its commands. */
export async function addInbox(
  program: Command,
  exitWith: (code: number) => void,
  args: readonly string[],
): Promise<void> {
  const inbox = program
    .command('inbox')
    .description(
      'look into the inbox, see why a run failed, run events again, dismiss runs, pause handlers, and erase',
    );
  await addWanted(inbox, commands, exitWith, args);
}
