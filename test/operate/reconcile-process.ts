/**
 * Reconciles the calls that its argument, a JSON object, names, and asks the address in it about each of them. With `dies`, it
 * is killed when it asks for that call's analysis, and has no handlers, so that others handle what it has recorded. It prints
 * what its handler is given, and how many events it has recorded.
 */
import { createReceiver } from '../../src/index.ts';
import { secret } from '../support/deliveries.ts';
import { clockWithoutWriteTimeout } from '../support/clock-without-write-timeout.ts';

const { database, callIds, url, dies } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly database: string;
  readonly callIds: readonly string[];
  readonly url: string;
  readonly dies?: string;
};
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

// Without that timeout, because what Postgres has recorded too late has failed for this pass, and is there for the next:
// none counts it.
const receiver = createReceiver({
  secrets: secret,
  database,
  clock: clockWithoutWriteTimeout,
  logger: { level: 'silent' },
});
if (dies === undefined)
  receiver.on('*', ({ eventName, callId, source }) => say({ handled: `${eventName} ${callId} ${source}` }));
await receiver.start();

const calls = {
  async get(callId: string) {
    await (await fetch(`${url}/${callId}`)).text();
    return {
      call_status: 'ended',
      call_start_time: Date.now(),
      call_end_time: Date.now(),
      ai_agent_id: 'agent_1',
    };
  },
};
const analyses = {
  async get(_: string, callId: string) {
    if (callId === dies) process.kill(process.pid, 'SIGKILL');
  },
};
let recorded = 0;
let failed = 0;
do {
  const found = await receiver.reconcile({ calls, analyses, since: '1h', ids: () => callIds });
  recorded += found.recorded;
  failed = found.failed;
  // Deliveries may have kept an event from being recorded all the time.
} while (failed > 0);
// A receiver keeps no process alive, and one that is ending by itself as the signal comes would die of it.
const alive = setInterval(() => {}, 60_000);
process.on('SIGTERM', () => {
  clearInterval(alive);
  void receiver.stop();
});
say({ recorded });
