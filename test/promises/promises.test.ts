/**
 * The nine promises, each in a test as short as possible. Tests that need a crash are in `kept-through-kill.test.ts`,
 * those that need many copies in `one-of-many-copies.test.ts`, those that need every fixture in
 * `no-personal-data.test.ts`.
 */
import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { deadLettersOf } from '../support/dead-letters.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

test('1. nothing acknowledged is lost: at 200 another connection reads the raw bytes in the inbox', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  const body = bodyOf({ traceId: 'trace-1' });
  expect((await deliver(receiver, body)).status).toBe(200);
  // Another connection, which sees only what the receiver has committed.
  expect(await rowsIn(database, 'select body from bodies')).toEqual([{ body: Buffer.from(body) }]);
});

test('2. nothing unauthenticated is handled', async () => {
  const seen: string[] = [];
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', (event) => seen.push(event.traceId)).fallback((event) => seen.push(event.traceId)),
  );
  const forged = bodyOf({ traceId: 'forged' });
  await deliver(receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
  await deliver(receiver, forged, { 'content-type': 'application/json' });
  await deliver(receiver, bodyOf({ traceId: 'authentic' }));
  await logs.until('run_done');
  expect(seen).toEqual(['authentic']);
});

test('3. no duplicate reaches a handler', async () => {
  const seen: string[] = [];
  const { receiver, logs } = await started({}, (r) => r.on('*', (event) => seen.push(event.traceId)));
  const body = bodyOf({ traceId: 'trace-1' });
  for (let copy = 0; copy < 3; copy += 1) {
    // Signed anew each time, as a retry may be: the event's identity decides on duplicates, not the signature.
    await deliver(receiver, body, signedHeaders(body, { timestamp: Date.now() - copy * 10_000 }));
  }
  await deliver(receiver, bodyOf({ traceId: 'trace-2' }));
  await logs.until('run_done', 2);
  expect(seen.toSorted()).toEqual(['trace-1', 'trace-2']);
});

test.skipIf(isOnPostgres)(
  '4. each handler runs at least once for each event, and what it commits is there exactly once',
  async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    let attempts = 0;
    const { receiver, logs } = await started({ database, clock, random: () => 0.5 }, (r) =>
      r.on('*', async (event, { attempt, commit }) => {
        attempts += 1;
        if (attempt === 1) throw new Error('before the commit');
        await commit((db) => {
          db.exec('create table orders (trace_id text)');
          db.prepare('insert into orders values (?)').run(event.traceId);
        });
        throw new Error('after the commit');
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
    await logs.until('run_retry');
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done');
    expect(await rowsIn(database, 'select trace_id from orders')).toEqual([{ trace_id: 'trace-1' }]);
    expect(attempts).toBe(2);
  },
);

test('5. a failing handler hurts only itself, and ends as a dead letter that is seen and run again', async () => {
  const clock = new ManualClock();
  const seen: string[] = [];
  let isDown = true;
  const { receiver, logs } = await started({ clock, retry: { attempts: 1 } }, (r) =>
    r
      .on('*', { name: 'failing' }, (event) => {
        if (isDown && event.callId === 'call-1') throw new Error('the CRM is down');
        seen.push(`failing ${event.traceId}`);
      })
      .on('*', { name: 'sibling' }, (event) => seen.push(`sibling ${event.traceId}`)),
  );
  expect((await deliver(receiver, bodyOf({ traceId: 'trace-1', callId: 'call-1' }))).status).toBe(200);
  expect((await deliver(receiver, bodyOf({ traceId: 'trace-2', callId: 'call-2' }))).status).toBe(200);
  await logs.until('run_done', 3);
  expect(seen.toSorted()).toEqual(['failing trace-2', 'sibling trace-1', 'sibling trace-2']);
  expect(await deadLettersOf(receiver)).toMatchObject([
    { traceId: 'trace-1', handler: 'failing', reason: 'the CRM is down' },
  ]);
  isDown = false;
  expect(await receiver.events.replay({ state: 'dead' })).toMatchObject({ runs: 1 });
  await logs.until('run_done', 4);
  expect(seen.at(-1)).toBe('failing trace-1');
});

test('6. unknown data is kept, never refused', async () => {
  const seen: unknown[] = [];
  const { receiver, logs } = await started({ signature: 't-v1-hex-whole' }, (r) =>
    r
      .on('CallHandler.CallTransferred', ({ payload }) => seen.push(payload.transfer_to))
      .fallback((event) => seen.push(event.body)),
  );
  const flat = JSON.stringify({ call_id: 'call-1', transfer_to: '1001' });
  const wrapped = bodyOf({ eventName: 'CallHandler.CallTransferred', payload: { transfer_to: '1002' } });
  const unknown = { eventName: 'Billing.InvoicePaid', timestamp: 'yesterday', nested: { deep: [1, null] } };
  for (const body of [flat, wrapped, JSON.stringify(unknown)]) {
    expect((await deliver(receiver, body)).json.status).toBe('accepted');
  }
  expect((await deliver(receiver, 'neither JSON nor empty')).json.status).toBe('quarantined');
  await logs.until('run_done', 3);
  expect(seen).toEqual(expect.arrayContaining(['1001', '1002', unknown]));
  expect((await receiver.counts()).quarantine.unreadable).toBe(1);
});

test('7. the sender learns nothing from a refusal: the reason is in the log, the bytes are in quarantine', async () => {
  const { receiver, logs } = await started();
  const body = bodyOf();
  const tries = [
    signedHeaders(body, { secrets: otherSecret }),
    signedHeaders(body, { timestamp: Date.now() + 3_600_000 }),
    { ...signedHeaders(body), 'x-webhook-signature': 'v1=nonsense' },
    { 'content-type': 'application/json' },
  ];
  const answers: unknown[] = [];
  for (const headers of tries) {
    const answer = await deliver(receiver, body, headers);
    answers.push({ ...answer, headers: [...answer.headers] });
  }
  expect(answers).toEqual(tries.map(() => answers[0]));
  expect(answers[0]).toMatchObject({ status: 401, json: { error: 'not_authentic' } });
  const reasons = logs.of('delivery_refused').map(({ reason }) => reason);
  expect(new Set(reasons).size).toBe(tries.length);
  expect((await receiver.counts()).quarantine.notAuthentic).toBe(tries.length);
});

test('9. the answer is fast: handlers run after it, never inside it', async () => {
  // Time is blocked and the handler never ends: an answer that waited for either would not come.
  const gate = new Gate();
  const { receiver, logs } = await started({ clock: new ManualClock(), timeout: '1h' }, (r) =>
    r.on('*', gate.pass),
  );
  expect((await deliver(receiver)).json.status).toBe('accepted');
  await gate.reached;
  expect((await deliver(receiver)).json.status).toBe('accepted');
  expect(logs.of('run_done')).toEqual([]);
  gate.open();
  await logs.until('run_done', 2);
});
