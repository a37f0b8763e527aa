/** The mistakes of people who write such a receiver by hand: none of them can happen here. */
import { describe, expect, test } from 'vitest';
import { endedCall, readersOf, receiving } from '../operate/reconcile-support.ts';
import { answered, clientOf, everything, standIn } from '../platform/support.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { createReceiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

describe('impossible:', () => {
  test('1. no signature check at all', async () => {
    expect(() => createReceiver({})).toThrow(/neither secrets nor headers/);
    const { receiver } = await started();
    const body = bodyOf();
    expect((await deliver(receiver, body, { 'content-type': 'application/json' })).status).toBe(401);
    expect((await deliver(receiver, body, signedHeaders(body, { secrets: otherSecret }))).status).toBe(401);
  });

  test('2. duplicates recognised in memory: neither a restart nor a second receiver on the file lets one through', async () => {
    const database = temporaryDatabase();
    const body = bodyOf();
    const [one, other] = [await started({ database }), await started({ database })];
    expect((await deliver(one.receiver, body)).json.status).toBe('accepted');
    expect((await deliver(other.receiver, body)).json.status).toBe('duplicate');
    await Promise.all([one.receiver.stop(), other.receiver.stop()]);
    const later = await started({ database });
    expect((await deliver(later.receiver, body)).json.status).toBe('duplicate');
  });

  test('3. an event marked as seen before the work, and lost when the work fails', async () => {
    const clock = new ManualClock();
    const done: number[] = [];
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', (_event, { attempt }) => {
        if (attempt === 1) throw new Error('the work fails');
        done.push(attempt);
      }),
    );
    const body = bodyOf();
    await deliver(receiver, body);
    await logs.until('run_retry');
    // The platform's own retry is a duplicate; the run is retried without it.
    expect((await deliver(receiver, body)).json.status).toBe('duplicate');
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done');
    expect(done).toEqual([2]);
  });

  test('4. slow work inside a request that has one second', async () => {
    const gate = new Gate();
    const { receiver } = await started({ clock: new ManualClock(), timeout: '1h' }, (r) =>
      r.on('*', gate.pass),
    );
    // The answers come although the handler has not ended and time is blocked.
    for (let index = 0; index < 20; index += 1) expect((await deliver(receiver)).status).toBe(200);
    await gate.reached;
  });

  test('5. two orders for one call, from two events that both report it', async () => {
    const [ended, analysed] = ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'];
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.onCall(
        { name: 'orders', events: [ended, analysed], within: '2m' },
        async ({ callId }, { commit }) => {
          // Nothing but the join keeps a second order out of this table.
          await commit((db) => void db.prepare('insert into orders values (?)').run(callId));
        },
      ),
    );
    receiver.database.exec('create table orders (call_id text)');
    const deliverEvent = (callId: string, eventName: string) =>
      deliver(receiver, bodyOf({ eventName, callId, traceId: `${callId} ${eventName}` }));
    for (const eventName of [ended, analysed, ended]) await deliverEvent('call-1', eventName);
    for (const eventName of [analysed, ended, analysed]) await deliverEvent('call-2', eventName);
    await logs.until('run_done', 2);
    await expect.poll(async () => (await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 4 });
    const orders = receiver.database.prepare('select call_id from orders order by call_id').all();
    expect(orders).toEqual([{ call_id: 'call-1' }, { call_id: 'call-2' }]);
  });

  test('6. an ISO time, or a flat transfer, refused for its form', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', (event) => seen.push([event.eventName, event.occurredAt.getTime(), event.issues])),
    );
    const payload = { call_id: 'call-1' };
    const eventName = 'CallHandler.CallEnded';
    const at = Date.UTC(2026, 2, 2, 9, 15, 42);
    const times = ['2026-03-02T09:15:42.000000000Z', at / 1_000, String(at), '2026-03-02T11:15:42+02:00'];
    for (const timestamp of times) {
      await deliver(receiver, JSON.stringify({ traceId: `${timestamp}`, eventName, timestamp, payload }));
    }
    await deliver(receiver, JSON.stringify({ call_id: 'call-2', transfer_to: '1001', timestamp: at }));
    await logs.until('run_done', 5);
    expect(seen).toEqual([...times.map(() => [eventName, at, []]), ['CallHandler.CallTransferred', at, []]]);
  });

  test('7. nothing stored raw: an event is there as it was sent, and is run again', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) => r.on('*', (event) => seen.push(event.body)));
    const body = '{ "traceId":"trace-1", "eventName":"Some.Thing", "unheard_of":{"a":[1,2]} }';
    await deliver(receiver, body);
    await logs.until('run_done');
    expect(await receiver.events.get('trace-1')).toMatchObject({ body: JSON.parse(body) });
    await receiver.events.replay({ traceId: 'trace-1' });
    await logs.until('run_done', 2);
    expect(seen).toEqual([JSON.parse(body), JSON.parse(body)]);
  });

  test('8. the length of a call taken from when its events were delivered', async () => {
    const clock = new ManualClock();
    const { receiver } = await started({ clock });
    const event = (eventName: string, timestamp: string) =>
      JSON.stringify({ traceId: eventName, eventName, timestamp, payload: { call_id: 'call-1' } });
    // The end comes first, and the start an hour late.
    for (const body of [
      event('CallHandler.CallEnded', '2026-03-02T09:15:42Z'),
      event('CallHandler.CallStarted', '2026-03-02T09:14:12Z'),
    ]) {
      expect((await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }))).status).toBe(
        200,
      );
      clock.advance(3_600_000);
    }
    expect((await receiver.calls.get('call-1'))?.durationMs).toBe(90_000);
  });

  test('9. polling that reads only the first page, behind which older calls vanish', async () => {
    const calls = Array.from({ length: 60 }, (_, index) => `call-${index}`);
    const pages = [calls.slice(0, 25), calls.slice(25, 50), calls.slice(50)];
    // The client of the platform goes on to the last page by itself.
    const tokens = ['second', 'third', null];
    const { url } = await standIn(
      ...pages.map((ids, page) => ({
        json: { data: ids.map((id) => ({ ...answered, id })), next_page_token: tokens[page] },
      })),
    );
    const listed = await everything(clientOf(url).platform.subscriptions.list({ pageSize: 25 }));
    expect(listed.map(({ id }) => id)).toEqual(calls);
    // A receiver that was away asks about every call that is reported to it, however many come one page after the other.
    const { receiver, events } = await receiving();
    const { readers } = readersOf(Object.fromEntries(calls.map((callId) => [callId, endedCall])));
    const ids = async function* () {
      for (const page of pages) yield* await Promise.resolve(page);
    };
    expect(await receiver.reconcile({ ...readers, ids })).toMatchObject({
      calls: 60,
      recorded: 180,
      failed: 0,
    });
    await expect.poll(() => events.length).toBe(180);
    expect(new Set(events.map(({ callId }) => callId))).toEqual(new Set(calls));
  });
});
