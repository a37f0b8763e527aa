import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { rowsIn } from '../support/inbox.ts';
import { Discard } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const failuresOf = async (receiver: Awaited<ReturnType<typeof started>>['receiver'], traceId: string) =>
  (await receiver.events.get(traceId))?.runs.flatMap(({ failures }) => failures);

describe('failed attempts', () => {
  test('are all kept, with when, how long, where and why, the latest first', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, random: () => 0.5 }, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 3 } }, (_, { attempt }) => {
        clock.advance(7);
        if (attempt === 3) throw new Discard('the customer is gone');
        throw new TypeError(`no answer, attempt ${attempt}`);
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'a' }));
    const times: number[] = [];
    for (const count of [1, 2]) {
      await logs.until('run_retry', count);
      times.push(clock.now());
      await clock.timer(500 * 2 ** (count - 1));
      clock.advance(10_000);
    }
    await logs.until('run_dead');
    const location = expect.stringContaining('failures.test.ts');
    const common = { duration: 7, location };
    const early = { ...common, outcome: 'retry', cause: 'TypeError' };
    expect(await failuresOf(receiver, 'a')).toMatchObject([
      { ...common, attempt: 3, outcome: 'dead', cause: 'Discard', reason: 'the customer is gone' },
      { ...early, attempt: 2, reason: 'no answer, attempt 2', at: new Date(times[1] ?? 0) },
      { ...early, attempt: 1, reason: 'no answer, attempt 1', at: new Date(times[0] ?? 0) },
    ]);
    expect((await receiver.events.list()).events[0]?.runs[0]).not.toHaveProperty('failures');
  });

  test('are bounded: the latest are kept', { tags: 'long' }, async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
        throw new Error('never');
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'a' }));
    for (let count = 1; count <= 23; count += 1) {
      await logs.until('run_dead', count);
      if (count < 23) await receiver.events.replay({ traceId: 'a' });
    }
    expect(await failuresOf(receiver, 'a')).toHaveLength(20);
  });
});

describe('groups of failures', () => {
  const broken = new Set<string>();

  /** Two handlers, whose runs fail for events whose trace id begins with what is broken. */
  async function failing() {
    broken.clear();
    for (const name of ['down', 'odd']) broken.add(name);
    // Time stands still: what is tried again stays so.
    const parts = await started({ clock: new ManualClock() }, (r) => {
      r.on('*', { name: 'crm', order: 'none', retry: { attempts: 1 } }, ({ traceId, callId }) => {
        const [kind = ''] = traceId.split(' ');
        if (!broken.has(kind)) return;
        if (kind === 'down') throw new Error(`the CRM has no "${callId}", asked at ${Date.now()}`);
        throw new RangeError('odd');
      });
      r.on('*', { name: 'mail', order: 'none', retry: { attempts: 5 } }, ({ traceId }) => {
        if (traceId === 'down 1' && broken.has('down')) throw new Error('no mail');
      });
    });
    for (const traceId of ['down 1', 'odd 1', 'down 2', 'fine 1'])
      await deliver(parts.receiver, bodyOf({ traceId, callId: `call-of-${traceId}` }));
    await parts.logs.until('run_dead', 3);
    await parts.logs.until('run_retry');
    return parts;
  }

  test('have what failed alike, whatever the names and numbers in it are', async () => {
    const { receiver } = await failing();
    const groups = await receiver.failures.list();
    expect(groups).toHaveLength(3);
    expect(groups).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          handler: 'crm',
          message: 'the CRM has no …, asked at …',
          dead: 2,
          retrying: 0,
        }),
        expect.objectContaining({ handler: 'crm', cause: 'RangeError', dead: 1, traceId: 'odd 1' }),
        expect.objectContaining({ handler: 'mail', cause: 'Error', dead: 0, retrying: 1, traceId: 'down 1' }),
      ]),
    );
    expect(JSON.stringify(groups)).not.toContain('call-of');
    // Sequences are the store's own, and no group has its event's.
    for (const group of groups) expect(group).not.toHaveProperty('sequence');
    expect(await receiver.failures.list({ handler: 'mail' })).toMatchObject([{ handler: 'mail' }]);
  });

  test('are acted on as a whole, and are gone when nothing of them is left', async () => {
    const { receiver } = await failing();
    const groups = await receiver.failures.list({ handler: 'crm' });
    const idOf = (dead: number) => groups.find((group) => group.dead === dead)?.id ?? '';
    const filter = { failure: idOf(2), state: 'dead', handler: 'crm' } as const;
    const found = await receiver.events.list(filter);
    expect(found.events.map(({ traceId }) => traceId).toSorted()).toEqual(['down 1', 'down 2']);
    broken.delete('down');
    expect(await receiver.events.replay(filter)).toMatchObject({ runs: 2 });
    await expect
      .poll(() => receiver.failures.list({ handler: 'crm' }))
      .toMatchObject([{ id: idOf(1), dead: 1 }]);
    await receiver.events.dismiss({ failure: idOf(1) }, { reason: 'odd' });
    expect(await receiver.failures.list({ handler: 'crm' })).toEqual([]);
    expect((await receiver.events.list({ failure: idOf(2) })).events).toEqual([]);
  });

  test('are replayed without those that were dismissed since they were looked for', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, alerts: { deadLetters: false } }, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => Promise.reject(new Error('down'))),
    );
    for (const traceId of ['a', 'b']) await deliver(receiver, bodyOf({ traceId }));
    await logs.until('run_dead', 2);
    const failure = (await receiver.failures.list())[0]?.id ?? '';
    const replaying = receiver.events.replay({ failure }, { rate: 1 });
    await logs.until('run_dead', 3);
    await receiver.events.dismiss({ state: 'dead', traceId: 'b' }, { reason: 'by hand' });
    await clock.runUntil(replaying);
    expect(await replaying).toMatchObject({ runs: 1 });
    expect((await receiver.counts()).runs).toMatchObject({ dead: 1 });
  });

  test('are acted on without the other dead letters of their events', { tags: 'long' }, async () => {
    const { receiver, logs } = await started({ alerts: { deadLetters: false } }, (r) => {
      for (const name of ['crm', 'charge-card'])
        r.on('*', { name, retry: { attempts: 1 } }, () => Promise.reject(new Error(`${name} is down`)));
    });
    await deliver(receiver, bodyOf({ traceId: 'a' }));
    await deliver(receiver, bodyOf({ traceId: 'b' }));
    await logs.until('run_dead', 4);
    const groups = await receiver.failures.list();
    const failure = groups.find(({ handler }) => handler === 'crm')?.id ?? '';
    const filter = { state: 'dead', failure } as const;
    const ofCrm = { events: 2, runs: 2, handlers: { crm: 2 } };
    expect(await receiver.events.replay(filter, { dryRun: true })).toMatchObject(ofCrm);
    expect(await receiver.events.replay(filter)).toMatchObject(ofCrm);
    await logs.until('run_dead', 6);
    expect(await receiver.events.dismiss(filter, { reason: 'by hand', dryRun: true })).toMatchObject(ofCrm);
    expect(await receiver.events.dismiss(filter, { reason: 'by hand' })).toMatchObject(ofCrm);
    expect(await receiver.failures.list()).toMatchObject([{ handler: 'charge-card', dead: 2 }]);
    // The handler is registered: its open runs could not be dismissed.
    expect(await receiver.events.dismiss({ failure }, { reason: 'by hand' })).toMatchObject({ runs: 0 });
  });

  test('are none of an id that a database may not take as it is', async () => {
    const { receiver } = await started();
    const filter = { state: 'dead', failure: 'no\0group' } as const;
    expect(await receiver.events.replay(filter)).toMatchObject({ events: 0 });
    expect(await receiver.events.dismiss(filter, { reason: 'by hand' })).toMatchObject({ events: 0 });
  });

  test('say how often they have failed in each hour of the last day', { tags: 'long' }, async () => {
    const clock = new ManualClock(Date.parse('2026-03-01T10:30:00Z'));
    const { receiver, logs } = await started({ clock, alerts: { deadLetters: false } }, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
        throw new Error('down');
      }),
    );
    const fail = async (traceId: string, count: number) => {
      const body = bodyOf({ traceId });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
      await logs.until('run_dead', count);
      // The minute is written, and the next one begins.
      const rest = 60_000 - (clock.now() % 60_000);
      await clock.timer(rest);
      clock.advance(rest + 5);
    };
    const lastDay = async () => (await receiver.failures.list())[0]?.lastDay;
    const of = (...present: readonly number[]) => [
      ...Array.from({ length: 24 - present.length }, () => 0),
      ...present,
    ];
    await fail('a', 1);
    await expect.poll(lastDay).toEqual(of(1));
    await clock.timer(60_000 - (clock.now() % 60_000));
    clock.advance(3_600_000);
    await fail('b', 2);
    await clock.timer(60_000 - (clock.now() % 60_000));
    await fail('c', 3);
    await expect.poll(lastDay).toEqual(of(1, 2));
  });

  test('are alike although the text that they quote is too long to be kept whole', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
        throw new Error(`the CRM refused {"name":"Anna","note":"${`${traceId} and so on `.repeat(100)}"}`);
      }),
    );
    for (const traceId of ['first', 'second']) await deliver(receiver, bodyOf({ traceId }));
    await logs.until('run_dead', 2);
    expect(await receiver.failures.list()).toMatchObject([{ message: 'the CRM refused {…:…,…:…', dead: 2 }]);
  });

  test('are not alike for the apostrophes in them', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
        throw new Error(`the CRM can't ${traceId}, so the call isn't stored`);
      }),
    );
    for (const traceId of ['find the customer', 'reach the shop'])
      await deliver(receiver, bodyOf({ traceId }));
    await logs.until('run_dead', 2);
    expect(await receiver.failures.list()).toHaveLength(2);
  });

  test('stay muted after a thousand others', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ eventName }) => {
        throw new Error(`no ${eventName}`);
      }),
    );
    let count = 0;
    const fail = async (eventName: string) => {
      await deliver(receiver, bodyOf({ traceId: `t-${(count += 1)}`, eventName }));
      await logs.until('run_dead', count);
    };
    await fail('Known');
    const [group] = await receiver.failures.list();
    await receiver.failures.mute(group?.id ?? '');
    await receiver.events.dismiss({ state: 'dead' }, { reason: 'known' });
    await rowsIn(
      database,
      `insert into failure_groups (fingerprint, handler, cause, message, first_seen_at)
       with recursive numbers (number) as (
         select 1 union all select number + 1 from numbers where number < 999)
       select 'other-' || number, handler, cause, message, first_seen_at from failure_groups cross join numbers`,
    );
    // A new group removes unused ones beyond the latest thousand, from a random one on: only the muted one is beyond.
    await fail('Other');
    await fail('Known');
    expect((await receiver.failures.list())[0]).toMatchObject({ id: group?.id, mutedAt: expect.any(Date) });
  });

  test('are muted and unmuted, by whom and why is kept', async () => {
    const { receiver } = await failing();
    const [group] = await receiver.failures.list({ handler: 'mail' });
    const id = group?.id ?? '';
    expect(group?.mutedAt).toBeUndefined();
    const account = { by: 'ann', reason: 'known' };
    expect(await receiver.failures.mute(id, account)).toBe(true);
    expect(await receiver.failures.mute(id)).toBe(false);
    expect(await receiver.failures.list({ handler: 'mail' })).toMatchObject([{ mutedAt: expect.any(Date) }]);
    expect(await receiver.failures.unmute(id)).toBe(true);
    expect(await receiver.failures.unmute(id)).toBe(false);
    expect(await receiver.failures.mute('nothing')).toBe(false);
    const { entries } = await receiver.audit.list();
    expect(entries.map(({ action }) => action)).toEqual(['mute', 'unmute', 'unmute', 'mute', 'mute']);
    expect(entries.at(-1)).toMatchObject({ ...account, what: id });
  });

  test('keep nothing of a call that was erased', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
        throw new Error('no customer Anna Lang');
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'a', callId: 'call-1' }));
    await logs.until('run_dead');
    await receiver.erase({ callId: 'call-1' });
    expect(await receiver.failures.list()).toEqual([]);
    expect(await failuresOf(receiver, 'a')).toBeUndefined();
  });
});
