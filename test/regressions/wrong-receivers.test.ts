/** Nine tests, each named after a mistake in receivers: a receiver that makes the mistake would fail the test. */
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, deliveryOf, otherSecret, post, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { ReceiverProcess } from '../support/process.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

describe('not this receiver', () => {
  test('acknowledge-before-commit: there is no answer as long as nothing is on disk', async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const { receiver } = await started({ database, clock, signature: 't-v1-hex-whole' });
    const other = new Database(database);
    other.exec('begin immediate');
    let isAnswered = false;
    const answering = receiver.take(deliveryOf()).finally(() => {
      isAnswered = true;
    });
    for (let waited = 0; waited < 600; waited += 20) {
      await turn();
      clock.advance(20);
    }
    expect(isAnswered).toBe(false);
    other.exec('commit');
    clock.advance(20);
    expect((await answering).status).toBe(200);
    expect(other.prepare('select count(*) from events').pluck().get()).toBe(1);
    other.close();
  });

  test('check-then-insert-race: copies in one turn of the event loop are one event', async () => {
    const { receiver } = await started();
    const body = bodyOf();
    const answers = await Promise.all([1, 2, 3, 4].map(() => deliver(receiver, body)));
    expect(answers.filter(({ json }) => json.status === 'accepted')).toHaveLength(1);
  });

  test(
    'crash-after-effect-before-ack: killed with its effect made, the copy that follows makes no second one',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const options = { database, file: `${database}.txt`, handlers: 'effects' } as const;
      const first = new ReceiverProcess(options);
      const body = bodyOf({ traceId: 'trace-1' });
      const url = await first.url();
      // It doesn't matter whether the process answers before it is killed: the copy is sent in either case.
      const answering = post(url, body).catch(() => undefined);
      await expect.poll(() => effectsIn(database), { interval: 5 }).toEqual(['trace-1']);
      await first.kill();
      await answering;
      const second = new ReceiverProcess(options);
      expect((await post(await second.url(), body)).json.status).toBe('duplicate');
      await expect.poll(async () => (await second.counts()).events.done).toBe(1);
      await second.stop();
      expect(effectsIn(database)).toEqual(['trace-1']);
    },
  );

  test('no-idempotency-record: what was handled before a restart is a duplicate after it', async () => {
    const database = temporaryDatabase();
    const body = bodyOf();
    const first = await started({ database }, (r) => r.on('*', () => {}));
    await deliver(first.receiver, body);
    await first.logs.until('run_done');
    await first.receiver.stop();
    const second = await started({ database }, (r) => r.on('*', () => {}));
    expect((await deliver(second.receiver, body)).json.status).toBe('duplicate');
  });

  test('order-assuming: events of a call may come in any order, and each is handled', async () => {
    const seen: string[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on(['CallHandler.*', 'callAnalysis.*'], (event) => seen.push(event.eventName)),
    );
    const names = ['callAnalysis.pcaCompleted', 'CallHandler.CallEnded', 'CallHandler.CallStarted'];
    for (const eventName of names) await deliver(receiver, bodyOf({ eventName, callId: 'call-1' }));
    await logs.until('run_done', 3);
    expect(seen).toEqual(names);
  });

  test('sensitive-logging: a transcript, a number and a secret come in, and none gets into the log', async () => {
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r.on('*', (event) => {
        throw new Error(JSON.stringify(event.payload));
      }),
    );
    const payload = {
      transcript: [{ content: 'my card is 4111' }],
      caller: { phone_number: '+12025550123' },
    };
    const body = bodyOf({ payload });
    await deliver(receiver, body);
    await deliver(receiver, body, signedHeaders(body, { secrets: otherSecret }));
    await logs.until('run_dead');
    expect(JSON.stringify(logs.lines)).not.toMatch(/my card|2025550123|whsec_|v1=/);
  });

  test('side-effect-before-deduplication: a copy is recognised before any handler gets it', async () => {
    const gate = new Gate();
    let begun = 0;
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { order: 'none' }, async () => {
        begun += 1;
        await gate.pass();
      }),
    );
    const body = bodyOf();
    await deliver(receiver, body);
    await gate.reached;
    expect((await deliver(receiver, body)).json.status).toBe('duplicate');
    await deliver(receiver, bodyOf());
    gate.open();
    await logs.until('run_done', 2);
    expect(begun).toBe(2);
  });

  test('signature-after-parse: what is not signed is not parsed, what is signed is verified byte by byte', async () => {
    const { receiver, logs } = await started({ signature: 'v1-hex-whole' });
    const signature = (body: string) => signedHeaders(body, { scheme: 'v1-hex-whole' });
    const unreadable = '{"traceId": ';
    const refused = await deliver(receiver, unreadable, signature('another body'));
    expect(refused).toMatchObject({ status: 401, json: { error: 'not_authentic' } });
    // A body that is the same when parsed and written again, but not byte by byte.
    const body = '{ "traceId": "trace-1",  "eventName": "a\\u0062" }';
    expect((await deliver(receiver, JSON.stringify(JSON.parse(body)), signature(body))).status).toBe(401);
    expect((await deliver(receiver, body, signature(body))).status).toBe(200);
    expect(logs.of('delivery_quarantined')).toEqual([]);
  });

  test('stale-signature-accepting: a signature counts for the tolerance, both ways, and no longer', async () => {
    const clock = new ManualClock();
    const { receiver } = await started({ clock, tolerance: '5m', signature: 't-v1-hex-whole' });
    const body = bodyOf();
    const statusAt = async (timestamp: number) =>
      (await deliver(receiver, body, signedHeaders(body, { timestamp }))).status;
    expect(await statusAt(clock.now() - 301_000)).toBe(401);
    expect(await statusAt(clock.now() + 301_000)).toBe(401);
    expect(await statusAt(clock.now() - 298_000)).toBe(200);
    const captured = signedHeaders(body, { timestamp: clock.now() });
    clock.advance(302_000);
    expect((await deliver(receiver, body, captured)).status).toBe(401);
  });
});

function effectsIn(database: string): unknown[] {
  const db = new Database(database, { readonly: true });
  try {
    return db.prepare('select trace_id from effects').pluck().all();
  } catch {
    // The handler has not created the table yet.
    return [];
  } finally {
    db.close();
  }
}
