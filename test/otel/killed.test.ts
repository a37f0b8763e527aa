/** The trace of a delivery whose process is killed between its answer and its handler. */
import { describe, expect, test } from 'vitest';
import { bodyOf, signedHeaders } from '../support/deliveries.ts';
import { Script } from '../support/process.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { attributesOf, handlingProcess, startedCollector, urlOfInbox } from './collector.ts';

const sender = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

function running(options: { readonly database: string; readonly url: string; readonly isStuck?: boolean }) {
  return new Script(handlingProcess, JSON.stringify(options));
}

async function send(address: string, traceId: string): Promise<number> {
  const body = bodyOf({ traceId });
  const traceparent = `00-${sender.traceId}-${sender.spanId}-01`;
  const headers = { ...signedHeaders(body), traceparent };
  return (await fetch(address, { method: 'POST', headers, body })).status;
}

async function expectOneStory(database: string): Promise<void> {
  const [before, after] = await Promise.all([startedCollector(), startedCollector()]);
  const first = running({ database, url: before.url, isStuck: true });
  const address = String((await first.line('started'))['started']);
  // The handler of the first never ends, so that of the second, which takes one at a time, has not begun.
  expect(await send(address, 'tried')).toBe(200);
  expect(await send(address, 'untried')).toBe(200);
  const received = await before.named('receive', 2);
  await first.kill();
  await running({ database, url: after.url }).line('started');

  const attempts = await after.named('process crm', 2);
  const settled = await after.named('settle', 2);
  const calls = await after.named('POST crm.example.com', 2);
  expect(before.spans).toHaveLength(2);
  expect(after.spans).toHaveLength(6);
  for (const id of ['tried', 'untried']) {
    const receive = received.find((span) => attributesOf(span)['messaging.message.id'] === id);
    const attempt = attempts.find((span) => attributesOf(span)['messaging.message.id'] === id);
    expect(receive).toMatchObject({ traceId: sender.traceId, parentSpanId: sender.spanId });
    expect(attempt?.parentSpanId).toBeUndefined();
    expect(attempt?.links).toMatchObject([{ traceId: sender.traceId, spanId: receive?.spanId }]);
    expect(attempt && attributesOf(attempt)).toMatchObject({ 'ringback.outcome': 'done' });
    const within = { traceId: attempt?.traceId, parentSpanId: attempt?.spanId };
    for (const spans of [settled, calls])
      expect(spans.filter(({ parentSpanId }) => parentSpanId === attempt?.spanId)).toMatchObject([within]);
  }
}

describe(
  'attempts after a kill are linked to the delivery that another process took',
  { tags: 'long' },
  () => {
    test('on SQLite', async () => expectOneStory(temporaryDatabase()));

    // Here, a killed process is taken over once its heartbeats have been missing for some seconds.
    test('on Postgres', async () => expectOneStory(await urlOfInbox()));
  },
);
