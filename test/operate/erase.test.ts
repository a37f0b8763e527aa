import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { RetentionStore } from '../../src/store/retention-store.ts';
import { ManualClock } from '../support/clock.ts';
import { type Answer, bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { foundInFiles } from '../support/files.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { Script } from '../support/process.ts';
import { type Clock, Discard, type Receiver, type Store } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const phone = '+15550100123';
const transcript = 'the caller asked about the blue bicycle';

/** Registers a handler whose dead letters have reasons with personal data, and a join that stays open. */
function talkative(receiver: Receiver) {
  receiver.on('*', { name: 'crm-sync' }, (event) => {
    throw new Discard(`no customer ${JSON.stringify(event.payload)} for ${event.callId}`);
  });
  receiver.onCall({ name: 'wait', events: ['CallHandler.CallEnded', 'never'], within: '1h' }, () => {});
}

async function settled(receiver: Receiver) {
  await expect.poll(async () => (await receiver.counts()).events.new).toBe(0);
}

/** A store of which the connection is lost once, when this step of an erasure has been done. */
function failingOnce(clock: Clock, method: keyof RetentionStore): Store {
  let isLost = false;
  return storeAround(temporaryDatabase(), clock, (name, work) =>
    name !== `retention.${method}` || isLost
      ? undefined
      : async (...given) => {
          isLost = true;
          await work(...given);
          throw new Error('The connection is lost.');
        },
  );
}

/** Moves time on until `work` has ended. */
async function meanwhile<T>(work: Promise<T>, clock: ManualClock): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  const passing = clock.passing(() => isOver);
  // Without a pause, it would take the CPU from the threads that work.
  await expect.poll(passing, { interval: 10 }).toBe(true);
  return work;
}

describe('receiver.erase', () => {
  test.skipIf(isOnPostgres)('removes a call from everywhere in the inbox and from its files', async () => {
    const database = temporaryDatabase();
    const { receiver } = await started({ database }, talkative);
    const payload = { from: phone, note: transcript, transfer_to: phone };
    const erasable = ['CallHandler.CallStarted', 'CallHandler.CallEnded', 'CallHandler.CallTransferred'].map(
      (eventName) => bodyOf({ callId: 'call-to-erase', eventName, payload }),
    );
    for (const body of erasable) await deliver(receiver, body);
    await deliver(receiver, bodyOf({ callId: 'call-to-keep', payload: { transcript: 'the weather' } }));
    const strange = bodyOf({ callId: 'call-to-erase', payload });
    await deliver(receiver, strange, signedHeaders(strange, { secrets: otherSecret }));
    const unreadable = `{"call_id":"call-to-erase","from":"${phone}"`;
    await deliver(receiver, unreadable);
    await settled(receiver);
    const needles = ['call-to-erase', phone, transcript];
    expect(foundInFiles(database, needles)).toEqual(needles);

    const counts = { events: 3, runs: 4, quarantined: 2, calls: 1, callIds: ['call-to-erase'] };
    expect(await receiver.erase({ callId: 'call-to-erase', dryRun: true })).toEqual({
      ...counts,
      checkpointed: false,
      compacted: false,
    });
    expect(foundInFiles(database, needles)).toEqual(needles);
    expect(await receiver.erase({ callId: 'call-to-erase' })).toEqual({
      ...counts,
      checkpointed: true,
      compacted: true,
    });
    expect(foundInFiles(database, [...needles, 'call-to-keep', 'the weather'])).toEqual([
      'call-to-keep',
      'the weather',
    ]);
    expect(await receiver.calls.get('call-to-erase')).toBeUndefined();
    expect(await receiver.calls.get('call-to-keep')).toBeDefined();
    expect((await receiver.counts()).events.open + (await receiver.counts()).events.done).toBe(1);
    // The identities of erased events are still known: a late copy is not stored again.
    for (const body of erasable) expect((await deliver(receiver, body)).json.status).toBe('duplicate');
    expect(foundInFiles(database, [transcript])).toEqual([]);
  });

  test.runIf(isOnPostgres)(
    'does not claim that what it removed is gone from the files of Postgres',
    async () => {
      const { receiver, logs } = await started({}, talkative);
      await deliver(receiver, bodyOf({ callId: 'call-to-erase' }));
      await settled(receiver);
      const left = { events: 1, checkpointed: false, compacted: false };
      expect(await receiver.erase({ callId: 'call-to-erase', compact: true })).toMatchObject(left);
      expect(logs.of('erased')).toMatchObject([left]);
    },
  );

  test(
    'finds a phone number however it is written, and erases the calls that name it whole',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const { receiver, logs } = await started({ database });
      const ways = [
        '+1 555 0100 123',
        '+1 (555) 0100-123',
        '001-555-0100.123',
        '15550100123',
        '\u00a0+15550100123',
      ];
      for (const [index, from] of ways.entries()) {
        await deliver(receiver, bodyOf({ callId: `call-${index}`, payload: { from } }));
        await deliver(receiver, bodyOf({ callId: `call-${index}`, eventName: 'CallHandler.CallStarted' }));
      }
      const escaped = bodyOf({ callId: 'call-escaped', payload: { from: 'X' } }).replace(
        'X',
        String.raw`\u00a015550100123`,
      );
      await deliver(receiver, escaped);
      await deliver(receiver, JSON.stringify({ traceId: 'no-call', eventName: 'Other.Thing', from: phone }));
      await deliver(receiver, bodyOf({ callId: 'by-reason' }));
      await settled(receiver);
      const would = await receiver.erase({ phoneNumber: phone, dryRun: true });
      const erased = await receiver.erase({ phoneNumber: phone });
      expect(erased).toMatchObject({ events: 12, calls: 6, quarantined: 0 });
      expect(would).toEqual({ ...erased, checkpointed: false, compacted: false });
      expect(erased.callIds).toContain('call-escaped');
      expect((await receiver.calls.list()).calls.map((call) => call.callId)).toEqual(['by-reason']);
      expect(foundInFiles(database, ['5550100123', '0100-123', '0100 123'])).toEqual([]);
      // Only counts are logged, so that the erased data is not in the log instead.
      expect(JSON.stringify(logs.lines)).not.toMatch(/5550100123|0100[ .-]123/);
      expect(logs.of('erased')[0]).toMatchObject({ events: 12, checkpointed: !isOnPostgres });
    },
  );

  test('never takes a longer number or a date for the phone number', async () => {
    const { receiver } = await started();
    await deliver(
      receiver,
      bodyOf({ payload: { from: '+155501001234', at: 7215550100123, sum: 155501001230 } }),
    );
    await deliver(receiver, bodyOf({ payload: { at: '2026-01-15 10:00:00' } }));
    await settled(receiver);
    expect(await receiver.erase({ phoneNumber: phone })).toMatchObject({ events: 0, calls: 0 });
    expect(await receiver.erase({ phoneNumber: '202 601 1510' })).toMatchObject({ events: 0, calls: 0 });
  });

  test('takes no number for a date that is written like one', { tags: 'long' }, async () => {
    const { receiver } = await started();
    const written = [
      ['0466123456', '0466-12-3456'],
      ['0466123457', '2026-01-15 0466-12-3457'],
      ['0466123458', '2026-01-15-0466123458'],
      ['0475123456', '0475-12-34-56'],
      ['0475123457', '0475-12-34 57'],
      ['+491511234567', '+49 1511-23-4567'],
      ['+491511234568', '+49 1511-23-45-68'],
      ['2012111234', '2012-11-1234'],
      ['2012111235', '2012-11-12-35'],
      ['0301234567', '2026-01-15 030 1234567'],
      ['0301234568', '2026-01-15 10:30 030-1234568'],
    ] as const;
    for (const [index, [, from]] of written.entries())
      await deliver(receiver, bodyOf({ callId: `call-${index}`, payload: { from } }));
    await settled(receiver);
    const found = written.map(async ([phoneNumber]) => receiver.erase({ phoneNumber, dryRun: true }));
    const callIds = (await Promise.all(found)).map((erased) => erased.callIds);
    expect(callIds).toEqual(written.map((_, index) => [`call-${index}`]));
  });

  test('takes no number behind a country code for the same number without one', async () => {
    const { receiver } = await started();
    const others = ['+1 555 0100 123', '+44-555-0100-123', '0044 (555) 0100 123', '+3815550100123'];
    for (const [index, from] of others.entries()) {
      await deliver(receiver, bodyOf({ callId: `other-${index}`, payload: { from } }));
    }
    const own = [
      '555 0100 123',
      'call +1 555 0100 999 or 555 0100 123',
      '+1 555 0100 999 555-0100-123',
      '2026-01-15T10:00:00+1000 555 0100 123',
      'at 10:00:00 +0200 555 0100 123',
      'for 3.001 555 0100 123',
    ];
    for (const [index, from] of own.entries()) {
      await deliver(receiver, bodyOf({ callId: `own-${index}`, payload: { from } }));
    }
    await settled(receiver);
    for (const phoneNumber of ['555 0100 123', '5550100123']) {
      const { callIds } = await receiver.erase({ phoneNumber, dryRun: true });
      expect(callIds.toSorted()).toEqual(own.map((_, index) => `own-${index}`));
    }
  });

  test('finds a phone number in the reason of a dead letter, and in quarantine', async () => {
    const { receiver } = await started({}, (r) =>
      r.on('*', () => Promise.reject(new Discard(`no customer ${phone}`))),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await deliver(receiver, `not JSON, but from ${phone}`);
    await settled(receiver);
    const erased = await receiver.erase({ phoneNumber: '+1 555 0100 123' });
    expect(erased).toMatchObject({ events: 1, runs: 1, quarantined: 1 });
  });

  test('erases what failures have said of the call, and people of its events', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', { name: 'crm' }, () => Promise.reject(new Discard('Anna Schmidt is no customer'))),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1', traceId: 'trace-1', payload: { from: phone } }));
    await logs.until('run_dead');
    expect(await receiver.failures.list()).toMatchObject([{ message: 'Anna Schmidt is no customer' }]);
    const account = { by: 'ann', reason: 'Anna Schmidt has called' };
    await receiver.events.replay({ traceId: 'trace-1' }, account);
    await logs.until('run_dead', 2);
    await receiver.handlers.pause('crm', { by: 'ann', reason: `${phone} has called` });
    await receiver.erase({ phoneNumber: phone });
    const { entries } = await receiver.audit.list();
    const erased = { by: undefined, reason: undefined };
    const kept = entries.map(({ action, by, reason }) => ({ action, by, reason }));
    expect(kept).toEqual(['erase', 'pause', 'replay'].map((action) => ({ action, ...erased })));
    expect(JSON.stringify(entries)).not.toContain('trace-1');
    const { handlers } = await receiver.handlers.list();
    expect(handlers).toMatchObject([{ name: 'crm', pause: { since: expect.any(Date), ...erased } }]);
    expect(foundInFiles(database, ['Anna Schmidt', 'trace-1', phone])).toEqual([]);
  });

  test('that ended in the middle is completed by the next, also where only ids of the person are', async () => {
    const clock = new ManualClock();
    const database = failingOnce(clock, 'eraseCall');
    const { receiver } = await started({ clock, database });
    await deliver(receiver, bodyOf({ callId: 'call-1', traceId: 'trace-1', payload: { from: phone } }));
    for (const filter of [{ callId: 'call-1' }, { traceId: 'trace-1' }])
      await receiver.events.replay(filter, { by: 'ann', reason: 'Anna Schmidt has called' });
    await expect(receiver.erase({ phoneNumber: phone })).rejects.toThrow('The connection is lost.');
    expect(await receiver.erase({ phoneNumber: phone })).toMatchObject({ events: 0 });
    const { entries } = await receiver.audit.list();
    expect(JSON.stringify(entries)).not.toMatch(/Anna|call-1|trace-1/);
  });

  test(
    'that ended in the middle is completed by the next, also of a call that takes several steps',
    { tags: 'long' },
    async () => {
      const clock = new ManualClock();
      const database = failingOnce(clock, 'eraseCall');
      const { receiver } = await started({ clock, database });
      await deliver(receiver, bodyOf({ callId: 'call-1', payload: { from: phone } }));
      await Promise.all(Array.from({ length: 249 }, () => deliver(receiver, bodyOf({ callId: 'call-1' }))));
      await expect(receiver.erase({ phoneNumber: phone })).rejects.toThrow('The connection is lost.');
      expect(await receiver.erase({ phoneNumber: phone })).toMatchObject({ events: 50, callIds: ['call-1'] });
      expect(await receiver.calls.get('call-1')).toBeUndefined();
    },
  );

  test('that ended in the middle is completed by the next, also of events without a call', async () => {
    const clock = new ManualClock();
    const database = failingOnce(clock, 'eraseEvents');
    const { receiver } = await started({ clock, database });
    await deliver(receiver, JSON.stringify({ traceId: 'trace-1', payload: { from: phone } }));
    await receiver.events.replay({ traceId: 'trace-1' }, { by: 'ann', reason: 'Anna Schmidt has called' });
    await expect(receiver.erase({ phoneNumber: phone })).rejects.toThrow('The connection is lost.');
    expect(await receiver.erase({ phoneNumber: phone })).toMatchObject({ events: 0 });
    const { entries } = await receiver.audit.list();
    expect(JSON.stringify(entries)).not.toMatch(/Anna|trace-1/);
  });

  test('leaves a call alone whose id only begins or ends alike', async () => {
    const { receiver } = await started();
    await deliver(receiver, bodyOf({ callId: 'call-12' }));
    await deliver(receiver, 'unreadable: call-12, call-1-2, recall-1');
    await settled(receiver);
    expect(await receiver.erase({ callId: 'call-1' })).toMatchObject({ events: 0, quarantined: 0, calls: 0 });
    expect((await receiver.counts()).events.done).toBe(1);
  });

  test(
    'finds every one of many calls in what is kept beside the events, whatever their ids look like',
    { tags: 'long' },
    async () => {
      const odd = ['a.b:c/d', '.dotted.', '::', 'קריאה', '+1 (555)', 'ab', 'ab.c', '"quoted"', '_', '1'];
      const ids = [...odd, ...Array.from({ length: 200 }, (_, place) => `call-${place}-of-many`)];
      const { receiver } = await started();
      const quarantine = (text: string) => deliver(receiver, `unreadable: ${text}`);
      for (const callId of ids) await deliver(receiver, bodyOf({ callId, payload: { from: phone } }));
      const alike = [
        'xa.b:c/d',
        'a.b:c/d-',
        'a.b:c',
        'call-7-of',
        'call-7-of-many2',
        '-call-7-of-many',
        'abc',
        '2',
      ];
      for (const text of alike) await quarantine(`of ${text} only`);
      expect(await receiver.erase({ phoneNumber: phone, dryRun: true })).toMatchObject({
        calls: ids.length,
        quarantined: 0,
      });
      for (const id of ids) await quarantine(`of (${id}), too`);
      expect(await receiver.erase({ phoneNumber: phone })).toMatchObject({
        calls: ids.length,
        quarantined: ids.length,
      });
      expect((await receiver.quarantine.list()).deliveries).toHaveLength(alike.length);
    },
  );

  test.skipIf(isOnPostgres)(
    'leaves no trace in unused parts of pages, where rows were moved about before',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const { receiver } = await started({ database }, talkative);
      // SQLite merges nearly empty pages with their neighbours, and leaves a copy of the moved rows behind.
      const calls = Array.from(
        { length: 600 },
        (_, index) => `${index % 6 === 0 ? 'secret' : 'other'}-${(index * 7_368_787 + 123_456) % 1_000_003}`,
      );
      await Promise.all(calls.map((callId) => deliver(receiver, bodyOf({ callId }))));
      await settled(receiver);
      const erased = calls.filter((callId) => callId.startsWith('secret'));
      for (const callId of erased.slice(1)) await receiver.erase({ callId, compact: false });
      await receiver.erase({ callId: erased[0] ?? '' });
      expect(foundInFiles(database, erased)).toEqual([]);
    },
  );

  test('loses a run in flight, without repeated errors, and commits nothing of it', async () => {
    const gate = new Gate();
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('*', { name: 'committing' }, async (_event, context) => {
          await gate.pass();
          await context.commit((db) => db.exec('create table effects (id)'));
        })
        .on('*', { name: 'failing' }, async () => {
          await gate.pass();
          throw new Error('not yet');
        }),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await gate.reached;
    expect(await receiver.erase({ callId: 'call-1' })).toMatchObject({ events: 1 });
    gate.open();
    await logs.until('run_lost', 2);
    await receiver.stop();
    expect(logs.of('dispatch_failed')).toEqual([]);
    expect(logs.of('run_lost')).toHaveLength(2);
    expect(logs.of('run_retry')).toEqual([]);
  });

  test.skipIf(isOnPostgres)(
    'says when a reader in another process prevents the checkpoint, and finishes when it has closed',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const clock = new ManualClock();
      const { receiver } = await started({ database, clock });
      const body = bodyOf({ callId: 'call-1', payload: { transcript } });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
      await settled(receiver);
      const reader = new Database(database);
      reader.exec('begin');
      reader.prepare('select count(*) from events').get();
      const erasing = receiver.erase({ callId: 'call-1' });
      expect(await meanwhile(erasing, clock)).toMatchObject({ events: 1, checkpointed: false });
      expect(foundInFiles(database, [transcript])).toEqual([transcript]);
      reader.close();
      // Time goes on until then: an attempt by the other thread may have begun before the reader had gone.
      const wanted = receiver.database.prepare("select 1 from settings where name = 'scrubbing'");
      await expect
        .poll(() => {
          clock.advance(1_000);
          return wanted.all();
        })
        .toEqual([]);
      expect(foundInFiles(database, [transcript])).toEqual([]);
    },
  );

  test(
    'is not abandoned by a script that waits for nothing else while a reader is in the way',
    { tags: 'long' },
    async () => {
      const script = fileURLToPath(new URL('./erasing-process.ts', import.meta.url));
      const erasing = new Script(script, JSON.stringify({ database: temporaryDatabase() }));
      expect(await erasing.line('erased')).toMatchObject({ erased: { events: 0, checkpointed: false } });
      expect(await erasing.exit()).toBe(0);
    },
  );

  test('accepts deliveries while it searches', { tags: 'long' }, async () => {
    const { receiver } = await started();
    for (let count = 0; count < 600; count += 1) await deliver(receiver, bodyOf({ callId: `call-${count}` }));
    const erasing = receiver.erase({ phoneNumber: phone });
    const taken: Answer[] = [];
    const state = { isOver: false };
    void erasing.finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) taken.push(await deliver(receiver, bodyOf()));
    await erasing;
    expect(taken.length).toBeGreaterThan(0);
    expect(taken.every((answer) => answer.status === 200)).toBe(true);
  });

  test('refuses options in a second argument instead of erasing', async () => {
    const { receiver } = await started();
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await settled(receiver);
    await expect(receiver.erase({ callId: 'call-1' }, { dryRun: true } as never)).rejects.toThrow(
      'The option erase(target) should be a single object, with dryRun or compact in it, but is followed by another argument.',
    );
    expect((await receiver.counts()).events.done).toBe(1);
  });

  test('says what can be erased, and needs a receiver that runs', async () => {
    const { receiver } = await started();
    await expect(receiver.erase({ phoneNumber: '12 34 56' })).rejects.toThrow(
      'The option phoneNumber in erase should be a phone number of at least 7 digits, as text, but is "12 34 56".',
    );
    await expect(receiver.erase({} as never)).rejects.toThrow(
      'The option erase(target) should be an object with either callId or phoneNumber, but is one with neither.',
    );
    await expect(receiver.erase({ callId: 'call-1', phoneNumber: phone })).rejects.toThrow('one with both');
    await expect(receiver.erase({ callID: 'call-1' } as never)).rejects.toThrow('Did you mean callId?');
    await expect(made().receiver.erase({ callId: 'call-1' })).rejects.toMatchObject({
      code: 'receiver_not_started',
    });
  });
});
