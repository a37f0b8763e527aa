// @module-tag long
/** Reconciling beside other processes on one inbox, each of which may be killed. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { placeOf } from '../support/inbox.ts';
import { Script } from '../support/process.ts';
import type { CallEvent, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { listening } from '../support/servers.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const script = fileURLToPath(new URL('./reconcile-process.ts', import.meta.url));
const names = ['CallHandler.CallStarted', 'CallHandler.CallEnded', 'callAnalysis.pcaCompleted'];
const callIds = Array.from({ length: 30 }, (_, index) => `call-${index}`);
const everyEvent = callIds.flatMap((callId) => names.map((eventName) => `${eventName} ${callId}`)).toSorted();

/** A receiver in this process, with what its handler was given. */
async function receiving(database: string) {
  const handled: string[] = [];
  const { receiver } = await started({ database }, (r) =>
    r.on('*', ({ eventName, callId, source }: CallEvent) => {
      handled.push(`${eventName} ${callId} ${source}`);
    }),
  );
  return { receiver, handled };
}

/** Delivers the events of a call together, as often as the platform would, and resolves to what became of each. */
function delivered(receiver: Receiver, callId: string): Promise<(string | undefined)[]> {
  const one = async (eventName: string): Promise<string | undefined> => {
    const body = bodyOf({ eventName, callId });
    for (;;) {
      const { status, json } = await deliver(receiver, body);
      if (status === 200) return json.status;
    }
  };
  return Promise.all(names.map(one));
}

const withoutSource = (lines: readonly string[]): string[] =>
  lines.map((line) => line.slice(0, line.lastIndexOf(' '))).toSorted();

test('reconciled in one process while they are delivered to another, events are handled once', async () => {
  const database = temporaryDatabase();
  const { receiver, handled } = await receiving(database);
  const deliveries = new Map<string, Promise<(string | undefined)[]>>();
  // As the other process asks about a call, the platform delivers what it has of it.
  const port = await listening((request, response) => {
    const callId = request.url?.slice(1) ?? '';
    if (!deliveries.has(callId)) deliveries.set(callId, delivered(receiver, callId));
    response.end();
  });
  const url = `http://127.0.0.1:${port}`;
  const other = new Script(script, JSON.stringify({ database: placeOf(database), callIds, url }));
  const { recorded } = await other.line('recorded');
  const answers = (await Promise.all(deliveries.values())).flat();
  const accepted = answers.filter((status) => status === 'accepted').length;
  expect(Number(recorded) + accepted).toBe(everyEvent.length);
  const all = () => [...handled, ...other.said('handled').map(String)];
  await expect.poll(() => all().length).toBeGreaterThanOrEqual(everyEvent.length);
  expect(await other.stop()).toBe(0);
  expect(withoutSource(all())).toEqual(everyEvent);
  expect(all().filter((line) => line.endsWith('reconciled'))).toHaveLength(Number(recorded));
});

test('after a process was killed in the middle, the next one records the rest, and late deliveries are duplicates', async () => {
  const database = temporaryDatabase();
  // Before the other process, which has no handlers, so that this one handles all that it leaves.
  const { receiver, handled } = await receiving(database);
  const url = `http://127.0.0.1:${await listening((_, response) => void response.end())}`;
  const dies = callIds[callIds.length / 2];
  const other = new Script(script, JSON.stringify({ database: placeOf(database), callIds, url, dies }));
  expect(await other.exit()).toBeNull();
  expect(other.said('recorded')).toEqual([]);

  const found = await receiver.reconcile({
    calls: {
      get: async () => ({
        call_status: 'ended',
        call_start_time: Date.now(),
        call_end_time: Date.now(),
        ai_agent_id: 'agent_1',
      }),
    },
    analyses: { get: async () => ({}) },
    ids: () => callIds,
    since: '1h',
  });
  expect(found).toMatchObject({ calls: callIds.length, failed: 0 });
  expect(found.recorded + found.alreadyThere).toBe(everyEvent.length);
  // That call's analysis, and its start and end.
  expect(found.recorded).toBeGreaterThanOrEqual(1);
  expect(found.alreadyThere).toBeGreaterThanOrEqual(2);
  for (const callId of callIds)
    expect(await delivered(receiver, callId)).toEqual(names.map(() => 'duplicate'));
  await expect.poll(() => handled.length).toBeGreaterThanOrEqual(everyEvent.length);
  await receiver.stop();
  expect(handled.toSorted()).toEqual(everyEvent.map((line) => `${line} reconciled`).toSorted());
});
