/** When the inbox may be read: from its opening to its closing, also while the receiver starts or stops. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import type { Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const asked: [string, (receiver: Receiver) => Promise<unknown>][] = [
  ['counts()', (r) => r.counts()],
  ['events.list()', (r) => r.events.list()],
  ['calls.list()', (r) => r.calls.list()],
  ['drift.list()', (r) => r.drift.list()],
  ['quarantine.list()', (r) => r.quarantine.list()],
  ['erase()', (r) => r.erase({ callId: 'call-1' })],
];

describe('the inbox', () => {
  test.each(asked)('is not asked by %s before start, nor after stop', async (method, ask) => {
    const { receiver } = made();
    const problem = { code: 'receiver_not_started', message: expect.stringContaining(method) };
    await expect(ask(receiver)).rejects.toMatchObject(problem);
    await receiver.start();
    await ask(receiver);
    await receiver.stop();
    await expect(ask(receiver)).rejects.toMatchObject(problem);
  });

  test('can be queried by a handler while stop drains', async () => {
    const gate = new Gate();
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', async () => {
        await gate.pass();
        for (const [, ask] of asked.slice(0, -1)) await ask(receiver);
      }),
    );
    await deliver(receiver);
    await gate.reached;
    const stopping = receiver.stop();
    await logs.until('receiver_stopping');
    gate.open();
    await stopping;
    expect(logs.of('run_retry')).toEqual([]);
    expect(logs.of('run_done')).toHaveLength(1);
  });

  test('can be queried by a handler before start has resolved', async () => {
    const database = temporaryDatabase();
    const before = await started({ database, retry: { base: 0 } }, (r) =>
      r.on('*', { name: 'asking', order: 'none' }, () => {
        throw new Error('not yet');
      }),
    );
    await deliver(before.receiver, bodyOf({ traceId: 'trace-1' }));
    await before.logs.until('run_retry');
    await before.receiver.stop();

    const { receiver, logs } = made({ database });
    receiver.on('*', { name: 'asking' }, async () => {
      await receiver.events.get('trace-1');
    });
    await receiver.start();
    await logs.until('run_done');
    expect(logs.of('run_retry')).toEqual([]);
  });
});

describe('stop during start', () => {
  test('waits for the start, and then stops', async () => {
    const { receiver, logs } = made();
    const starting = receiver.start();
    await receiver.stop();
    await starting;
    expect(receiver.isReady).toBe(false);
    expect(logs.lines.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['receiver_started', 'receiver_stopped']),
    );
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_stopped' });
    expect(() => receiver.on('*', () => {})).toThrow(/registered after start/);
  });

  test('of a start that fails has nothing to stop', async () => {
    const { receiver } = made({ secrets: () => Promise.reject(new Error('the vault is closed')) });
    const starting = receiver.start();
    const stopping = receiver.stop();
    await expect(starting).rejects.toMatchObject({ code: 'secrets_unavailable' });
    await stopping;
  });
});

test('a delivery to a receiver that is not started is refused, and the fix is logged once', async () => {
  const { receiver, logs } = made();
  for (let times = 0; times < 2; times += 1) expect((await deliver(receiver)).status).toBe(503);
  expect(logs.of('delivery_refused')).toMatchObject([{ reason: 'not_open' }, { reason: 'not_open' }]);
  expect(logs.of('refusal_fix')).toMatchObject([
    { reason: 'not_open', fix: expect.stringContaining('call await receiver.start()') },
  ]);
});

test('a delivery to a receiver that was stopped is refused without a fix', async () => {
  const { receiver, logs } = await started();
  await receiver.stop();
  expect((await deliver(receiver)).status).toBe(503);
  expect(logs.of('refusal_fix')).toEqual([]);
});

test.each<[string, RegExp, (receiver: Receiver) => Promise<unknown>]>([
  [
    'erase',
    /erase\(target\) should be an object with .*callId, .*but is "c1"/,
    (r) => r.erase('c1' as never),
  ],
  ['erase', /erase\(target\) should be .*, but is one with neither/, (r) => r.erase({} as never)],
  ['erase', /callId in erase should be the id of a call/, (r) => r.erase({ callId: 7 } as never)],
  ['erase', /no option id in erase/, (r) => r.erase({ id: 'x' } as never)],
  ['calls.get', /callId in calls\.get should be/, (r) => r.calls.get({ id: 'x' } as never)],
  ['events.get', /traceId in events\.get should be/, (r) => r.events.get({ id: 'x' } as never)],
  ['events.list', /events\.list\(query\) should be an object/, (r) => r.events.list('x' as never)],
  ['events.replay', /events\.replay\(filter\) should be an object/, (r) => r.events.replay('x' as never)],
  ['quarantine.get', /id in quarantine\.get should be/, (r) => r.quarantine.get({ id: 'x' } as never)],
])('what %s can not take is reported by its name: %s', async (_, sentence, ask) => {
  const { receiver } = await started();
  await expect(ask(receiver)).rejects.toThrow(sentence);
});

test.skipIf(isOnPostgres).each([
  ['in memory, which no command can read', () => ':memory:', /receiver\.events\.get\(traceId\)$/],
  [
    'in a file',
    () => temporaryDatabase(),
    /receiver\.events\.get\(traceId\), or: ringback inbox event <traceId>$/,
  ],
])('a failed run says where its reason is: %s', async (_, database, sentence) => {
  const options = { database: database(), retry: { attempts: 2, base: 0 } };
  const { receiver, logs } = await started(options, (r) =>
    r.on('*', () => {
      throw new Error('the CRM is down');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await logs.until('run_dead');
  for (const event of ['run_retry', 'run_dead'] as const) {
    expect(logs.of(event)[0]?.['msg']).toMatch(sentence);
  }
  expect((await receiver.events.get('trace-1'))?.runs).toMatchObject([{ reason: 'the CRM is down' }]);
});

/**
 * A real store during one of whose next operations, once there is a `stop`, the receiver stops: after `passed` others. Its
 * time stands still: a heartbeat would be such an operation too, and the stop and it would wait for each other.
 */
function stoppingStore(database: string, passed = 0) {
  const next: { stop?: () => Promise<void> } = {};
  const clock = new ManualClock();
  let left = passed;
  const stopping = storeAround(database, clock, (method, work) => {
    // The rest of the store is what takes and handles deliveries.
    if (!method.includes('.') && method !== 'counts' && method !== 'pinnedScheme') return undefined;
    return async (...given) => {
      if (next.stop && left-- === 0) await next.stop();
      return work(...given);
    };
  });
  return { options: { database: stopping, clock }, next };
}

const goingOn: typeof asked = [
  ...asked,
  ['events.get()', (r) => r.events.get('trace-1')],
  ['events.replay()', (r) => r.events.replay({ eventName: 'Any.Event' })],
  ['a dry run', (r) => r.events.replay({ eventName: 'Any.Event' }, { dryRun: true })],
  ['events.dismiss()', (r) => r.events.dismiss({ state: 'dead' }, { by: 'ann', reason: 'done by hand' })],
  ['events.stop()', (r) => r.events.stop(1)],
  ['quarantine.get()', (r) => r.quarantine.get(1)],
  ['quarantine.release()', (r) => r.quarantine.release(1)],
  ['quarantine.discard()', (r) => r.quarantine.discard(1)],
  ['quarantine.reverify()', (r) => r.quarantine.reverify()],
  ['handlers.list()', (r) => r.handlers.list()],
  ['handlers.pause()', (r) => r.handlers.pause('handler')],
  ['failures.list()', (r) => r.failures.list()],
  ['history.list()', (r) => r.history.list()],
  ['history.ofHandler()', (r) => r.history.ofHandler('crm')],
  ['alerts.list()', (r) => r.alerts.list()],
  ['audit.list()', (r) => r.audit.list()],
];

test.each(goingOn)('a stop during %s is what it says', async (_, ask) => {
  const { options, next } = stoppingStore(temporaryDatabase());
  const { receiver } = await started(options, (r) => r.on('*', { name: 'handler' }, () => {}));
  next.stop = () => receiver.stop();
  const ended = ask(receiver).then(
    () => 'done',
    (error: { readonly code?: unknown }) => error.code,
  );
  // A pool that the app has still answers what had begun before the stop.
  expect(isOnPostgres ? ['done', 'receiver_not_started'] : ['receiver_not_started']).toContain(await ended);
});

// A pool that the app has still answers what had begun before the stop.
test.skipIf(isOnPostgres).each<[string, number, (receiver: Receiver) => Promise<unknown>]>([
  ['a release looks at the scheme', 2, (r) => r.quarantine.release(1)],
  ['a pause is taken up', 5, (r) => r.handlers.pause('handler')],
  ['a resumption is taken up', 2, (r) => r.handlers.resume('handler')],
])('a stop when %s is what it says', async (_, passed, ask) => {
  const { options, next } = stoppingStore(temporaryDatabase(), passed);
  const { receiver } = await started(options, (r) => r.on('*', { name: 'handler' }, () => {}));
  await deliver(receiver, bodyOf({ callId: 'changed' }), signedHeaders(bodyOf()));
  next.stop = () => receiver.stop();
  await expect(ask(receiver)).rejects.toMatchObject({ code: 'receiver_not_started' });
});
