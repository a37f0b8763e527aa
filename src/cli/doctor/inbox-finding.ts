import type { StoreCounts } from '../../store/store.ts';
import { type Finding, finding } from './finding.ts';

/** How full the inbox is, and whether anything in it waits for a person. */
export function inboxFinding({ events, runs, quarantine }: StoreCounts): Finding {
  const notDone = events.new + events.open;
  const forAPerson = [
    ...counted('dead letters', runs.dead, 'ringback inbox events --state dead'),
    ...counted('unreadable deliveries', quarantine.unreadable, 'ringback inbox quarantine --kind unreadable'),
  ];
  const told = [
    `events: ${notDone + events.done}, of which ${notDone} are not done`,
    ...forAPerson,
    // No reason for a warning: whoever finds the address can send some.
    ...counted('deliveries that are not authentic', quarantine.notAuthentic, 'ringback inbox quarantine'),
  ];
  return finding('inbox', forAPerson.length > 0 ? 'warning' : 'ok', told.join('; '));
}

function counted(what: string, count: number, look: string): readonly string[] {
  return count > 0 ? [`${what}: ${count} (${look})`] : [];
}
