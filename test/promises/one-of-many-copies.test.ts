import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Answer, bodyOf, deliver, post, signedHeaders } from '../support/deliveries.ts';
import { ReceiverProcess } from '../support/process.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts';

const body = bodyOf({ traceId: 'trace-1', callId: 'call-1' });

/** How often each answer was given. */
function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { json } of answers) counts[json.status ?? ''] = (counts[json.status ?? ''] ?? 0) + 1;
  return counts;
}

test('of 200 copies at once exactly one is accepted and run; after a restart none', async () => {
  const database = temporaryDatabase();
  const seen: string[] = [];
  const start = () => started({ database }, (r) => r.on('*', (event) => seen.push(event.traceId)));
  const { receiver, logs } = await start();
  const answers = await Promise.all(Array.from({ length: 200 }, () => deliver(receiver, body)));
  expect(tally(answers)).toEqual({ accepted: 1, duplicate: 199 });
  await logs.until('run_done');
  await receiver.stop();

  const next = await start();
  const copies = await Promise.all(Array.from({ length: 200 }, () => deliver(next.receiver, body)));
  expect(tally(copies)).toEqual({ duplicate: 200 });
  await expect.poll(async () => (await next.receiver.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
  await next.receiver.stop();
  expect(seen).toEqual(['trace-1']);
});

test(
  'of 100 copies to each of two processes on one database exactly one is accepted and run',
  { tags: 'long' },
  async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'appended.txt');
    const options = { database: join(folder, 'inbox.db'), file, handlers: 'effects' } as const;
    const processes = [new ReceiverProcess(options), new ReceiverProcess(options)];
    const urls = await Promise.all(processes.map((process) => process.url()));
    // Signed only once, so that the copies are identical to the last byte.
    const headers = signedHeaders(body);
    const copies = urls.flatMap((url) => Array.from({ length: 100 }, () => post(url, body, headers)));
    expect(tally(await Promise.all(copies))).toEqual({ accepted: 1, duplicate: 199 });
    await expect.poll(async () => (await processes[0]?.counts())?.events.done).toBe(1);
    await Promise.all(processes.map((process) => process.stop()));
    expect(readFileSync(file, 'utf8')).toBe('trace-1\n');
  },
);

test('a copy under another trace id in the unsigned header is a copy all the same', async () => {
  const { receiver } = await started();
  const unnamed = JSON.stringify({ eventName: 'CallHandler.CallEnded', payload: { call_id: 'call-1' } });
  const headers = signedHeaders(unnamed);
  const first = await deliver(receiver, unnamed, { ...headers, 'x-webhook-traceid': 'trace-1' });
  const second = await deliver(receiver, unnamed, { ...headers, 'x-webhook-traceid': 'trace-2' });
  expect([first.json.status, second.json.status]).toEqual(['accepted', 'duplicate']);
  // The trace id in the copy's header is not used up: another event with that id is accepted.
  const another = JSON.stringify({ eventName: 'CallHandler.CallEnded', payload: { call_id: 'call-2' } });
  const third = { ...signedHeaders(another), 'x-webhook-traceid': 'trace-2' };
  expect((await deliver(receiver, another, third)).json.status).toBe('accepted');
});
