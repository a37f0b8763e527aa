/**
 * Calls of a sandbox, delivered over HTTP to a receiver with a page and a file, while the CRM of one handler is down
 * for a while. Sandbox and receiver share a clock, so that a day passes in a minute.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { setImmediate as turn, setTimeout as realPause } from 'node:timers/promises';
import { pino } from 'pino';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { createPlatform } from '../../src/platform/index.ts';
import { createSandbox, type PlayedCall, type Sandbox, type Seed } from '../../src/sandbox/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { handle } from './handlers.ts';

export const minute = 60_000;

/** What happens, and when, in milliseconds since 1970. */
export interface Plan {
  readonly begin: number;
  /** When each call begins, in order. */
  readonly calls: readonly number[];
  /** When the CRM is down. */
  readonly outage: { readonly from: number; readonly to: number };
}

export interface Day {
  readonly receiver: Receiver;
  readonly sandbox: Sandbox;
  /** Where the page is. */
  readonly page: string;
  readonly now: () => number;
  /** Lets time pass until then, with all that happens meanwhile. */
  readonly passUntil: (time: number) => Promise<void>;
  /** Lets time pass as fast as it really does, until something has come. */
  readonly passUntilDone: <T>(coming: Promise<T>) => Promise<T>;
  readonly end: () => Promise<void>;
}

const key = 'key_of_the_restaurant';
const seed: Seed = {
  organizations: [
    {
      id: 'org_example',
      name: 'Restaurant',
      users: [{ id: 'user_1', name: 'Ada', keys: [key] }],
      workspaces: [{ id: 'workspace_1', name: 'Calls' }],
      agents: [
        { id: 'agent_reservations', name: 'Reservations', workspace_id: 'workspace_1' },
        { id: 'agent_orders', name: 'Orders', workspace_id: 'workspace_1' },
      ],
    },
  ],
};

/** Answers are lost, so that events come again; some deliveries are forged, and some are no events. */
const adversary = { dropped: 0.04, duplicated: 0.01, wrong_secret: 0.004, rubbish: 0.001 };

/** Begins at the plan's time; nothing happens until time passes. */
export async function beginDay({ begin, calls, outage }: Plan): Promise<Day> {
  const folder = mkdtempSync(`${tmpdir()}/ringback-day-`);
  const clock = manualClock(begin);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sandbox = createSandbox({ clock, seed, adversary, callSeed: 'a day' });
  await sandbox.start();
  const platform = createPlatform({ baseUrl: sandbox.url, apiKey: key });
  const wanted = { name: 'calls', url: `${origin}/webhooks`, active: true };
  const { secret } = await platform.subscriptions.create(wanted);

  const receiver = createReceiver({
    secrets: secret?.reveal(),
    database: `${folder}/ringback.db`,
    https: { required: false },
    clock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    // What the disk of whoever makes the pictures has is not part of the day.
    alerts: { freeDisk: false },
  });
  const isDown = () => clock.now() >= outage.from && clock.now() < outage.to;
  const handlers = handle(receiver, clock, isDown);
  await receiver.start();
  const deliveries = followDeliveries(sandbox, server, clock);
  serve(server, receiver);
  const left = [...calls];
  /** Lets what goes on come to an end: deliveries take as long as they really do, handlers as long as they say. */
  const settle = async (): Promise<void> => {
    for (let isQuiet = false; !isQuiet;) {
      const from = performance.now();
      await turn();
      if (deliveries.areGoingOn()) clock.advance(performance.now() - from);
      else if (handlers.areRunning()) clock.advance(10);
      else isQuiet = await isIdle(receiver);
    }
  };
  /** Moves time on to what comes next, at most by so much. */
  const step = async (most: number): Promise<void> => {
    const next = Math.min(clock.now() + most, left[0] ?? Infinity, deliveries.next());
    clock.advance(Math.max(0, next - clock.now()));
    for (; (left[0] ?? Infinity) <= clock.now(); left.shift()) deliveries.expect(sandbox.calls.begin());
    await settle();
  };

  return {
    receiver,
    sandbox,
    page: `${origin}/ringback`,
    now: () => clock.now(),
    passUntil: async (time) => {
      while (clock.now() < time) {
        // Retries take real time too, between two deliveries.
        const isRetried = clock.now() >= outage.from && clock.now() < outage.to + 15 * minute;
        if (isRetried) await realPause(1);
        await step(Math.min(time - clock.now(), isRetried ? 2_000 : minute));
      }
    },
    passUntilDone: async (coming) => {
      const state = { isDone: false };
      const end = () => (state.isDone = true);
      coming.then(end, end);
      while (!state.isDone) {
        const from = performance.now();
        await realPause(20);
        await step(performance.now() - from);
      }
      return coming;
    },
    end: async () => {
      deliveries.stop();
      await sandbox.stop();
      server.close();
      server.closeAllConnections();
      await receiver.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

function serve(server: Server, receiver: Receiver): void {
  const page = receiver.page({ authorize: () => ({ access: 'all', by: 'ann' }) }).nodeHandler('/ringback');
  const webhooks = receiver.nodeHandler();
  server.on('request', (request, response) => (isOfPage(request.url) ? page : webhooks)(request, response));
}

function isOfPage(url = ''): boolean {
  return url.startsWith('/ringback');
}

/** Whether the receiver holds nothing that it works on. */
async function isIdle(receiver: Receiver): Promise<boolean> {
  await realPause(1);
  const { claims, runs } = await receiver.counts();
  return claims.events === 0 && runs.running === 0;
}

/** What the receiver tells of the end of a delivery. */
const ends = ['accepted', 'duplicate', 'quarantined', 'refused', 'failed'].map(
  (end) => `ringback.delivery_${end}`,
);

/** Knows when deliveries begin, and whether some are going on: time must not run away while they are. */
function followDeliveries(sandbox: Sandbox, server: Server, clock: ManualClock) {
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
  server.on('request', ({ url }) => {
    if (isOfPage(url)) return;
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
