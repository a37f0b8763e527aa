/** The mistakes of people who write such a receiver by hand: none of them can happen here. */
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
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
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on(
        ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
        { name: 'orders' },
        async (event, { commit }) => {
          await commit((db) => {
            db.exec('create table if not exists orders (call_id text primary key, told_by text)');
            db.prepare(
              'insert into orders values (?, ?) on conflict do update set told_by = told_by || excluded.told_by',
            ).run(event.callId, `${event.eventName} `);
          });
        },
      ),
    );
    for (const eventName of ['callAnalysis.pcaCompleted', 'CallHandler.CallEnded']) {
      await deliver(receiver, bodyOf({ eventName, callId: 'call-1' }));
    }
    await logs.until('run_done', 2);
    const db = new Database(database, { readonly: true });
    const orders = db.prepare('select * from orders').all();
    db.close();
    expect(orders).toEqual([
      { call_id: 'call-1', told_by: 'callAnalysis.pcaCompleted CallHandler.CallEnded ' },
    ]);
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

  // Ringback doesn't poll the platform for calls: every delivered event is kept, and every page of calls can be listed.
  test('9. older calls that vanish behind the first page', async () => {
    const { receiver } = await started();
    const calls = Array.from({ length: 60 }, (_, index) => `call-${index}`);
    await Promise.all(calls.map((callId) => deliver(receiver, bodyOf({ callId }))));
    const listed = { calls: [] as string[], events: [] as string[] };
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await receiver.calls.list({ limit: 25, ...(cursor === undefined ? {} : { cursor }) });
      listed.calls.push(...page.calls.map(({ callId }) => callId));
      ({ cursor } = page);
    }
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await receiver.events.list({ limit: 25, ...(cursor === undefined ? {} : { cursor }) });
      listed.events.push(...page.events.map(({ callId }) => callId ?? ''));
      ({ cursor } = page);
    }
    expect(listed.calls.toSorted()).toEqual(calls.toSorted());
    expect(listed.events.toSorted()).toEqual(calls.toSorted());
  });
});
