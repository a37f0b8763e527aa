/**
 * Calls of a sandbox, delivered over HTTP to a receiver with a page and a file, while the CRM of one handler is down
 * for a while. Sandbox and receiver share a clock, so that a day passes in a minute.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { pino } from 'pino';
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/index.ts';
import { createPlatform } from '../../src/platform/index.ts';
import { createSandbox, type Sandbox, type Seed } from '../../src/sandbox/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { followDeliveries } from './deliveries.ts';
import { handle } from './handlers.ts';
import { passingTime, type PassingTime, type Plan } from './passing-time.ts';

export interface Day extends PassingTime {
  readonly receiver: Receiver;
  readonly sandbox: Sandbox;
  /** Where the page is. */
  readonly page: string;
  readonly now: () => number;
  readonly end: () => Promise<void>;
}

/** Where the page is; all else is for deliveries. */
const mount = '/ringback';
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

/** Begins at the plan's time; nothing happens until time passes. Without a database, it has a file of its own. */
export async function beginDay(
  { begin, calls, outage }: Plan,
  database?: ReceiverOptions['database'],
): Promise<Day> {
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
    database: database ?? `${folder}/ringback.db`,
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
  const isDelivery = ({ url = '' }: IncomingMessage) => !url.startsWith(mount);
  const deliveries = followDeliveries({ sandbox, server, clock, isDelivery });
  serve(server, receiver, isDelivery);
  const time = passingTime({ clock, calls, outage, sandbox, receiver, handlers, deliveries });
  return {
    receiver,
    sandbox,
    page: `${origin}${mount}`,
    now: () => clock.now(),
    ...time,
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

function serve(server: Server, receiver: Receiver, isDelivery: (request: IncomingMessage) => boolean): void {
  const page = receiver.page({ authorize: () => ({ access: 'all', by: 'ann' }) }).nodeHandler(mount);
  const webhooks = receiver.nodeHandler();
  server.on('request', (request, response) => (isDelivery(request) ? webhooks : page)(request, response));
}
