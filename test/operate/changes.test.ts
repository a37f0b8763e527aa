import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Activity } from '../../src/kit/activity.ts';
import { Changes } from '../../src/operate/api/changes.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import type { Authorize, Receiver, ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { listening } from '../support/servers.ts';

/** A running receiver whose API is served, and opens streams of changes. */
async function served(authorize: Authorize = () => 'read', options: ReceiverOptions = {}) {
  const { receiver, logs } = await started(options, (r) => r.on('*', { name: 'crm' }, () => {}));
  const server = createServer(receiver.api({ authorize }).nodeHandler());
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { 'x-ringback-request': '1' };
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const open = () => opened(`http://127.0.0.1:${port}/changes`);
  return { receiver, logs, server, ask, open };
}

/** The event that names all lists. */
const allLists =
  'data: {"topics":["events","calls","failures","handlers","quarantine","drift","audit","history","alerts"]}';

/** A stream of changes, and what came in it so far. */
async function opened(url: string) {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const response = await fetch(url, { signal: leaving.signal });
  const state = { text: '', hasEnded: false };
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) state.text += Buffer.from(chunk as Uint8Array).toString();
    state.hasEnded = true;
  };
  void read().catch(() => {});
  return { response, state, leave: () => leaving.abort() };
}

const deliverOne = (receiver: Receiver, traceId = 'a') => deliver(receiver, bodyOf({ traceId }));

describe('the stream of changes', () => {
  test('says which lists may have changed, and nothing of what is in them', { tags: 'long' }, async () => {
    const { receiver, open } = await served();
    const { response, state } = await open();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    await expect.poll(() => state.text).toContain(': ');
    await deliverOne(receiver, 'a secret id');
    await expect
      .poll(() => state.text)
      .toMatch(/event: changed\ndata: \{"topics":\[[^\]]*"events"[^\]]*\]\}\n\n/);
    await receiver.handlers.pause('crm');
    await expect.poll(() => state.text).toContain('"audit"');
    expect(state.text).not.toContain('a secret id');
  });

  test(
    'sends at most one event a second, and every few seconds one that names all lists',
    { tags: 'long' },
    async () => {
      const clock = new ManualClock();
      const { receiver, open } = await served(() => 'read', { clock });
      const { state } = await open();
      await expect.poll(() => state.text).toContain(': ');
      const count = () => state.text.split('event: changed').length - 1;
      await receiver.handlers.pause('crm');
      await expect.poll(count).toBe(1);
      await receiver.handlers.resume('crm');
      expect(count()).toBe(1);
      clock.advance(1_000);
      await expect.poll(count).toBe(2);
      clock.advance(4_000);
      await expect.poll(() => state.text).toContain('"history"');
    },
  );

  test('names all lists when a person has changed something, or looked at a body', async () => {
    // While time stands still, nothing else makes it name them.
    const { receiver, logs, ask, open } = await served(() => 'read', { clock: new ManualClock() });
    await deliverOne(receiver);
    await logs.until('run_done');
    for (const act of [
      () => receiver.failures.mute('a-group'),
      () => receiver.quarantine.discard(1),
      () => ask('/events/a?body=true'),
    ]) {
      const { state } = await open();
      await expect.poll(() => state.text).toContain(': ');
      await act();
      await expect.poll(() => state.text).toContain(allLists);
    }
  });

  test('names all lists when an alert is raised, as after other rare changes', async () => {
    const { open } = await served(() => 'read', { clock: new ManualClock() });
    const { state } = await open();
    await expect.poll(() => state.text).toContain(': ');
    channel('ringback.alert_raised').publish({});
    await expect.poll(() => state.text).toContain(allLists);
  });

  test('says that a replay has begun, and that it was stopped', async () => {
    const clock = new ManualClock();
    const { receiver, logs, open } = await served(() => 'read', { clock });
    for (const traceId of ['a', 'b']) {
      const body = bodyOf({ traceId });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    }
    await logs.until('run_done', 2);
    const before = await open();
    await expect.poll(() => before.state.text).toContain(': ');
    const replaying = receiver.events.replay({ since: 0 }, { rate: 0.01 });
    await expect.poll(() => before.state.text).toContain(allLists);
    await logs.until('run_done', 3);
    const { state } = await open();
    await expect.poll(() => state.text).toContain(': ');
    await receiver.events.stop(1);
    await expect.poll(() => state.text).toContain(allLists);
    expect(await replaying).toMatchObject({ state: 'stopped' });
  });

  test('keeps next to nothing for a page that does not read', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const clock = new ManualClock();
    const changes = new Changes(clock, new Activity(), () => {});
    changes.open();
    // As many messages as may wait for it.
    for (let second = 0; second < 60; second += 1) clock.advance(1_000);
    collect();
    const before = process.memoryUsage().heapUsed;
    const entries = 200_000;
    for (let entry = 0; entry < entries; entry += 1) changes.recorded();
    collect();
    expect((process.memoryUsage().heapUsed - before) / entries).toBeLessThan(32);
    changes.close();
  });

  test('asks what is in front neither to keep, nor to compress, nor to buffer it', async () => {
    const { open } = await served();
    const { headers } = (await open()).response;
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(headers.get('x-accel-buffering')).toBe('no');
  });

  test('needs the action look, and authorize is called again after some minutes', async () => {
    const clock = new ManualClock();
    let allowed: ReturnType<Authorize> = ['replay'];
    const { open } = await served(() => allowed, { clock });
    expect((await open()).response.status).toBe(403);
    allowed = undefined;
    expect((await open()).response.status).toBe(403);
    allowed = ['look'];
    const { response, state } = await open();
    expect(response.status).toBe(200);
    clock.advance(300_000);
    await expect.poll(() => state.hasEnded).toBe(true);
  });

  test.each([
    ['of a sibling site', { 'sec-fetch-site': 'same-site' }],
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of another origin, as an older browser says it', { origin: 'https://other.example.com' }],
  ])('is refused to a page %s, which could take up all places', async (_, headers) => {
    const { receiver } = await started();
    const api = receiver.api({ authorize: () => 'read' });
    const ask = (more: Record<string, string>) =>
      api.fetch(new Request('https://ops.example.com/changes', { headers: more }));
    const refused = await ask(headers);
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { error: { code: 'origin_refused' } },
    ]);
    for (const own of [{}, { 'sec-fetch-site': 'same-origin' }, { origin: 'https://ops.example.com' }]) {
      const { status, body } = await ask(own);
      expect(status).toBe(200);
      await body?.cancel();
    }
  });

  test('is open to a hundred pages, and to others once some have closed', async () => {
    const { receiver, open } = await served();
    const pages = await Promise.all(Array.from({ length: 100 }, open));
    expect(pages.map(({ response }) => response.status)).toEqual(Array.from({ length: 100 }, () => 200));
    expect((await open()).response.status).toBe(503);
    await deliverOne(receiver);
    for (const { state } of pages) await expect.poll(() => state.text).toContain('event: changed');
    pages[0]?.leave();
    await expect.poll(async () => (await open()).response.status).toBe(200);
  });

  test.each(['before the API is asked', 'while authorize decides'])(
    'keeps no place for pages that have gone %s',
    async (when) => {
      const { receiver } = await started();
      const waiting: Promise<unknown>[] = [];
      const untilGone = async ({ socket }: IncomingMessage, now: string): Promise<void> => {
        if (when === now && waiting.length < 100) await waiting[waiting.push(once(socket, 'close')) - 1];
      };
      const authorize: Authorize = async (_request, source) => {
        await untilGone(source as IncomingMessage, 'while authorize decides');
        return 'read' as const;
      };
      const handle = receiver.api({ authorize }).nodeHandler();
      const port = await listening((request, response) => {
        void untilGone(request, 'before the API is asked').then(() => handle(request, response));
      });
      const pages = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
      for (const page of pages) page.write('GET /changes HTTP/1.1\r\nhost: x\r\n\r\n');
      await expect.poll(() => waiting.length).toBe(100);
      for (const page of pages) page.destroy();
      await Promise.all(waiting);
      // What had been begun before is over when this is answered.
      await fetch(`http://127.0.0.1:${port}/counts`);
      const { response } = await opened(`http://127.0.0.1:${port}/changes`);
      expect(response.status).toBe(200);
    },
  );

  test('releases the place of an aborted Request, even if its server ignores the answer', async () => {
    const { receiver } = await started();
    const api = receiver.api({ authorize: () => 'read' });
    const ask = (signal?: AbortSignal) =>
      api.fetch(new Request('http://localhost/changes', { signal: signal ?? null }));
    for (let page = 0; page < 100; page += 1) await ask(AbortSignal.abort());
    const { status, body } = await ask();
    expect(status).toBe(200);
    await body?.cancel();
  });

  test('ends when the receiver stops, so that its server can close', async () => {
    const { receiver, server, open } = await served();
    const { state } = await open();
    await receiver.stop();
    await expect.poll(() => state.hasEnded).toBe(true);
    server.close();
    await once(server, 'close');
  });
});
