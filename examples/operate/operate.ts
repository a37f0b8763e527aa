/** Shows dead letters and quarantine, and replays what is dead. How to run it: README.md beside this file. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createReceiver, type Receiver } from 'ringback';
import { readSecretFile } from 'ringback/platform';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { app: { type: 'string' }, reason: { type: 'string' }, yes: { type: 'boolean' } },
});
const [command = '', handler] = positionals;

const commands = new Map(Object.entries({ dead: listDead, quarantine: listQuarantine, replay }));
const run = commands.get(command);
if (!run || (command === 'replay' && (handler === undefined || values.app === undefined))) {
  throw new Error(
    'Say dead [handler], quarantine, or replay <handler> --app <file> [--reason <text>] [--yes]',
  );
}

const database = process.env['RINGBACK_DATABASE'] ?? './ringback.db';
// It would be made, and then there is nothing dead.
if (!existsSync(database)) throw new Error(`There is no database ${database}: set RINGBACK_DATABASE`);

const receiver = createReceiver({
  secrets: () => readSecretFile(process.env['RINGBACK_SECRETS_FILE'] ?? './secrets'),
  database,
  // How long something is kept is for the service to say: what runs for a moment removes nothing.
  retention: { done: '3650d', dead: '3650d', quarantine: '3650d', traceIds: '3650d' },
  logger: { level: 'error' },
});
// Only a replay needs the handlers: without any, this process takes no part in the work.
if (command === 'replay') await registerHandlers(receiver);
await receiver.start();
try {
  await run();
} finally {
  await receiver.stop();
}

async function listDead(): Promise<void> {
  const filter = { state: 'dead', ...(handler !== undefined && { handler }) } as const;
  let cursor: string | undefined;
  do {
    const page = await receiver.events.list({ ...filter, ...(cursor !== undefined && { cursor }) });
    for (const { traceId, eventName, callId, runs } of page.events) {
      const dead = runs.filter(({ state }) => state === 'dead');
      print({ traceId, eventName, callId, dead: dead.map((one) => [one.handler, one.reason]) });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function listQuarantine(): Promise<void> {
  const { deliveries } = await receiver.quarantine.list({ limit: 1_000 });
  for (const { id, kind, reason, receivedAt, bytes } of deliveries)
    print({ id, kind, reason, receivedAt, bytes });
}

/** Only says what would be run, unless it is meant. */
async function replay(): Promise<void> {
  const { reason, yes } = values;
  const options = { dryRun: yes !== true, by: 'operate', ...(reason !== undefined && { reason }) };
  print(await receiver.events.replay({ state: 'dead', handler: handler ?? '' }, options));
}

async function registerHandlers(to: Receiver): Promise<void> {
  const app = (await import(pathToFileURL(resolve(values.app ?? '')).href)) as {
    default: (receiver: Receiver) => unknown;
  };
  await app.default(to);
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
