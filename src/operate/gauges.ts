/** What metrics say of the inbox, in one list for every client of metrics. */
import type { StoreCounts } from '../store/store.ts';
import type { InboxHandlers } from './handlers.ts';
import type { History } from './history.ts';

/** What a receiver is asked for. */
interface Asked {
  readonly counts: () => Promise<StoreCounts>;
  readonly history: Pick<History, 'backlog'>;
  readonly handlers: Pick<InboxHandlers, 'whichArePaused'>;
}

/** What the inbox holds at one moment. */
type InboxReading = Awaited<ReturnType<typeof readInbox>>;

interface InboxGauge {
  readonly name: string;
  readonly help: string;
  readonly unit?: 's';
  /** Its values are states, kinds or names of registered handlers: nothing of an event. */
  readonly label?: 'state' | 'kind' | 'handler';
  readonly valuesIn: (reading: InboxReading) => readonly InboxGaugeValue[];
}

interface InboxGaugeValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** @throws RingbackError unless the receiver runs */
export async function readInbox(receiver: Asked) {
  const [counts, backlog, pauses] = await Promise.all([
    receiver.counts(),
    receiver.history.backlog(),
    receiver.handlers.whichArePaused(),
  ]);
  return { counts, backlog, pauses };
}

export const inboxGauges: readonly InboxGauge[] = [
  {
    name: 'waiting',
    help: 'Events and due runs that wait, in the inbox and in this process.',
    valuesIn: ({ backlog }) => [{ value: backlog.waiting, labels: {} }],
  },
  {
    name: 'oldest_waiting',
    help: 'How long the oldest of them has waited.',
    unit: 's',
    valuesIn: ({ backlog }) => [{ value: backlog.oldestWaiting / 1_000, labels: {} }],
  },
  {
    name: 'stored_runs',
    help: 'Runs that are not done, by their state.',
    label: 'state',
    valuesIn: ({ counts }) =>
      Object.entries(counts.runs).map(([state, value]) => ({ value, labels: { state } })),
  },
  {
    name: 'quarantined',
    help: 'Deliveries in quarantine, by why.',
    label: 'kind',
    valuesIn: ({ counts: { quarantine } }) => [
      { value: quarantine.notAuthentic, labels: { kind: 'not_authentic' } },
      { value: quarantine.unreadable, labels: { kind: 'unreadable' } },
    ],
  },
  {
    name: 'handler_paused',
    help: 'Whether a person has paused the handler.',
    label: 'handler',
    valuesIn: ({ pauses }) =>
      [...pauses].map(([handler, isPaused]) => ({ value: isPaused ? 1 : 0, labels: { handler } })),
  },
];
