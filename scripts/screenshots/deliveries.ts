/** The deliveries of a sandbox, each from its beginning to its end in the receiver. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server } from 'node:http';
import type { PlayedCall, Sandbox } from '../../src/sandbox/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** What the receiver tells of the end of a delivery. */
const ends = ['accepted', 'duplicate', 'quarantined', 'refused', 'failed'].map(
  (end) => `ringback.delivery_${end}`,
);

/** Knows when deliveries begin, and whether some are going on: time must not run away while they are. */
export function followDeliveries({
  sandbox,
  server,
  clock,
  isDelivery,
}: {
  readonly sandbox: Sandbox;
  readonly server: Server;
  readonly clock: ManualClock;
  readonly isDelivery: (request: IncomingMessage) => boolean;
}) {
  /** When attempts begin. */
  const due: number[] = [];
  let begun = 0;
  let ended = 0;
  sandbox.attempts.watch(({ disturbance, isDelivered, number }) => {
    // Forged and second requests are no attempts of their own.
    if (disturbance !== undefined && disturbance !== 'dropped') return;
    ended += 1;
    // The only policy of the platform: at most three retries, each after ten seconds.
    if (!isDelivered && number <= 3) due.push(clock.now() + 10_000);
  });
  const begin = () => {
    for (let at = due.length - 1; at >= 0; at -= 1) {
      if ((due[at] ?? 0) > clock.now()) continue;
      due.splice(at, 1);
      begun += 1;
    }
  };

  // The receiver is still at work on a delivery whose sender has dropped the connection.
  let received = 0;
  let receivedAt = 0;
  server.on('request', (request) => {
    if (!isDelivery(request)) return;
    received += 1;
    receivedAt = performance.now();
  });
  const end = () => (received = Math.max(0, received - 1));
  for (const name of ends) subscribe(name, end);
  /** One that was dropped before it was whole may have no end. */
  const isWorking = () => received > 0 && performance.now() < receivedAt + 2_000;

  return {
    expect: ({ events }: PlayedCall) => due.push(...events.map(({ happensAt }) => happensAt)),
    next: () => Math.min(...due),
    areGoingOn: () => {
      begin();
      return begun > ended || isWorking();
    },
    stop: () => ends.forEach((name) => unsubscribe(name, end)),
  };
}
