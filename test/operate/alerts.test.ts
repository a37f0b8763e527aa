import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import {
  type Alert,
  ConfigError,
  Discard,
  type HandlerOptions,
  type Receiver,
  type ReceiverOptions,
} from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { listening } from '../support/servers.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

const receiversOn = new WeakMap<ManualClock, Receiver[]>();

/** A receiver whose handler fails as the trace id says, with its notifications. */
async function watched(
  alerts: ReceiverOptions['alerts'] = {},
  {
    clock = new ManualClock(),
    database = temporaryDatabase(),
    notifies = true,
    handler = {},
    handlers = ['crm'],
  }: {
    readonly clock?: ManualClock;
    readonly database?: string;
    readonly notifies?: boolean;
    readonly handler?: HandlerOptions;
    readonly handlers?: readonly string[];
  } = {},
) {
  const notified: Alert[] = [];
  const held = Promise.withResolvers<void>();
  const notify = (alert: Alert) => void notified.push(alert);
  const { receiver, logs } = await started(
    {
      clock,
      database,
      random: () => 0.5,
      alerts: { freeDisk: false, ...(notifies && { notify }), ...alerts },
    },
    (r) => {
      for (const name of handlers)
        r.on('*', { name, retry: { base: '400d', cap: '400d' }, ...handler }, ({ traceId }) => {
          if (traceId.startsWith('bad')) throw new Discard('no');
          if (traceId.startsWith('late')) throw new Error('not yet');
          return traceId.startsWith('held') ? held.promise : undefined;
        });
    },
  );
  const sharing = receiversOn.get(clock) ?? [];
  receiversOn.set(clock, sharing);
  sharing.push(receiver);
  const send = (
    traceId: string,
    { secrets, payload = {} }: { secrets?: string; payload?: Record<string, unknown> } = {},
  ) => {
    const body = bodyOf({ traceId, payload });
    const signing = { timestamp: clock.now(), ...(secrets !== undefined && { secrets }) };
    const named = { 'x-webhook-event': 'CallHandler.CallEnded', 'x-webhook-traceid': traceId };
    return deliver(receiver, body, { ...signedHeaders(body, signing), ...named });
  };
  /** Moves time on to just after a minute has ended, when alerts are looked for, and waits until they have been. */
  const look = async (after = 0) => {
    clock.advance(after + minute - ((clock.now() + after) % minute) + 7);
    // The timer for the next minute is set when this one has been looked at. No other is due just then. Of receivers that
    // share the clock, none is left behind: it would look later for minutes that are over.
    await clock.timer(minute - 7, sharing.filter(({ isReady }) => isReady).length);
  };
  const states = () =>
    notified.map(({ name, subject, state }) => [name, subject, state].filter(Boolean).join(' '));
  return { receiver, logs, clock, notified, send, look, states, release: held.resolve };
}

interface Received {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The address of a server that answers with a status, or with a redirect, or never. */
async function answering(
  answer: (request: Received) => number | { readonly status: number; readonly location: string } | undefined,
): Promise<string> {
  const port = await listening((request, response) => {
    void text(request).then((body) => {
      const answered = answer({ headers: request.headers as Record<string, string>, body });
      if (typeof answered === 'number') return response.writeHead(answered).end();
      return answered && response.writeHead(answered.status, { location: answered.location }).end();
    });
  });
  return `http://127.0.0.1:${port}/hook`;
}

const settled = (receiver: Receiver, count: number) =>
  expect
    .poll(async () => {
      const { runs, events } = await receiver.counts();
      return events.new + events.open === 0 || runs.due + runs.dead > 0
        ? runs.due + runs.dead + events.done
        : 0;
    })
    .toBeGreaterThanOrEqual(count);

describe('alerts', () => {
  test('report dead letters once, again after a day, and when they are over', { tags: 'long' }, async () => {
    const { receiver, logs, notified, send, look, states, clock } = await watched();
    await look();
    expect(await receiver.alerts.list()).toEqual([]);
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    await look();
    expect(states()).toEqual(['dead_letters raised']);
    const since = notified[0]?.since;
    expect(notified).toEqual([
      {
        name: 'dead_letters',
        subject: undefined,
        state: 'raised',
        since: expect.any(Date),
        message: '1 run of crm is a dead letter: it is not retried.',
      },
    ]);
    await send('bad-2');
    await logs.until('run_dead', 2);
    await look();
    expect(await receiver.alerts.list()).toEqual([
      {
        name: 'dead_letters',
        subject: undefined,
        since,
        message: '2 runs of crm are dead letters: they are not retried.',
      },
    ]);
    await look(day);
    expect(states()).toEqual(['dead_letters raised', 'dead_letters reminded']);
    expect(notified[1]?.message).toBe('2 runs of crm are dead letters: they are not retried.');
    await receiver.events.dismiss({ state: 'dead' }, { reason: 'entered by hand' });
    await look();
    expect(states().slice(2)).toEqual(['dead_letters over']);
    expect(notified.at(-1)).toMatchObject({
      since,
      message: expect.stringMatching(/^It is over, after \d+ h\.$/),
    });
    expect(logs.of('alert_raised')).toMatchObject([
      { alert: 'dead_letters', state: 'raised' },
      { alert: 'dead_letters', state: 'reminded' },
    ]);
    expect(logs.of('alert_over')).toHaveLength(1);
    await look();
    expect(notified).toHaveLength(3);
    expect(clock.now()).toBeGreaterThan(Number(since));
  });

  test('name three of the handlers that have dead letters', async () => {
    const { logs, notified, send, look } = await watched({}, { handlers: ['sms', 'mail', 'crm', 'billing'] });
    await send('bad-1');
    await logs.until('run_dead', 4);
    await look();
    expect(notified[0]?.message).toBe(
      '4 runs of billing, crm, mail and 1 more are dead letters: they are not retried.',
    );
  });

  test('report more than a thousand dead letters, if that is the threshold', async () => {
    const database = temporaryDatabase();
    const { receiver, logs, send, look } = await watched({ deadLetters: 1_001 }, { database });
    await send('bad-1');
    await logs.until('run_dead');
    await rowsIn(
      database,
      `insert into runs (sequence, handler, state, attempts, settled_at, failure)
       with recursive numbers (number) as (
         select 2 union all select number + 1 from numbers where number < 1001)
       select sequence, 'crm-' || number, state, attempts, settled_at, failure from runs cross join numbers`,
    );
    await look();
    expect(await receiver.alerts.list()).toMatchObject([
      { name: 'dead_letters', message: '1001 or more runs of crm are dead letters: they are not retried.' },
    ]);
  });

  test('report a handler most of whose attempts fail, until they succeed', { tags: 'long' }, async () => {
    const { receiver, logs, notified, send, look, states } = await watched({
      failedAttempts: 3,
      oldestWaiting: false,
    });
    for (const traceId of ['good-1', 'late-1', 'late-2']) await send(traceId);
    await logs.until('run_done');
    await logs.until('run_retry', 2);
    await look();
    expect(notified).toEqual([]);
    await send('late-3');
    await logs.until('run_retry', 3);
    await look();
    expect(states()).toEqual(['handler_failing crm raised']);
    expect(notified[0]?.message).toBe(
      '3 of 4 attempts of crm have failed in the last 15 min, 3 of them in the same way (Error).',
    );
    const succeed = async (from: number, to: number) => {
      for (let count = from; count <= to; count += 1) await send(`good-${count}`);
      await logs.until('run_done', to);
      await look();
    };
    // More go well than fail. It is not over yet: else it would be raised again at the next failure.
    await succeed(2, 5);
    expect(states()).toHaveLength(1);
    await send('late-4');
    await logs.until('run_retry', 4);
    await succeed(6, 8);
    const [group] = await receiver.failures.list();
    const alike = `failures_alike ${group?.id}`;
    // Twice as many go well, and what has failed alike is still more than a tenth.
    expect(states().slice(1)).toEqual([`${alike} raised`, 'handler_failing crm over']);
    await succeed(9, 46);
    // Less than a tenth, but not less than half of that.
    expect(states()).toHaveLength(3);
    await send('late-5');
    await logs.until('run_retry', 5);
    // Less than half of that, although one has failed just now.
    await succeed(47, 96);
    expect(states().slice(3)).toEqual([`${alike} over`]);
  });

  test(
    'are over for a fixed handler, although more attempts had failed before',
    { tags: 'long' },
    async () => {
      const { logs, send, look, states } = await watched({ failedAttempts: 3, oldestWaiting: false });
      for (const traceId of ['good-0', 'late-1', 'late-2', 'late-3', 'late-4']) await send(traceId);
      await logs.until('run_retry', 4);
      await look();
      expect(states()).toEqual(['handler_failing crm raised']);
      // Nothing happens: nobody knows whether it is well, nor whether the one success was the last attempt.
      await look(6 * minute);
      expect(states()).toHaveLength(1);
      await send('good-1');
      await logs.until('run_done', 2);
      await look();
      expect(states()).toEqual(['handler_failing crm raised', 'handler_failing crm over']);
      // It stays so, although nothing has happened since and the failures are still among the last 15 minutes.
      await look(4 * minute);
      expect(states()).toHaveLength(2);
    },
  );

  test('are over for a handler that has succeeded six minutes after its last failure, not before', async () => {
    const { logs, send, look, states } = await watched({ failedAttempts: 3, oldestWaiting: false });
    for (const traceId of ['late-1', 'late-2', 'late-3']) await send(traceId);
    await logs.until('run_retry', 3);
    await look();
    await send('good-1');
    await logs.until('run_done');
    for (let count = 2; count <= 5; count += 1) await look();
    expect(states()).toEqual(['handler_failing crm raised']);
    await look();
    expect(states()).toEqual(['handler_failing crm raised', 'handler_failing crm over']);
  });

  test('are over for a fixed handler although muted failures continue', { tags: 'long' }, async () => {
    const { receiver, logs, send, look, states } = await watched({ failedAttempts: 3, deadLetters: false });
    for (const traceId of ['late-1', 'late-2', 'late-3', 'bad-0']) await send(traceId);
    await logs.until('run_retry', 3);
    await logs.until('run_dead');
    await look();
    expect(states()).toEqual(['handler_failing crm raised']);
    const groups = await receiver.failures.list();
    await receiver.failures.mute(groups.find(({ dead }) => dead === 1)?.id ?? '');
    for (let count = 1; count <= 6; count += 1) {
      // No more go well than have failed.
      await send(count === 1 ? 'good-1' : `bad-${count}`);
      await logs.until(count === 1 ? 'run_done' : 'run_dead', count);
      await look();
    }
    expect(states()).toEqual(['handler_failing crm raised', 'handler_failing crm over']);
  });

  test(
    'report failures that are alike from a tenth of the attempts on, until the group is muted',
    { tags: 'long' },
    async () => {
      const { receiver, logs, notified, send, look, states } = await watched({
        failedAttempts: 3,
        oldestWaiting: false,
      });
      for (let count = 1; count <= 28; count += 1) await send(`good-${count}`);
      for (const traceId of ['late-1', 'late-2', 'late-3']) await send(traceId);
      await logs.until('run_done', 28);
      await logs.until('run_retry', 3);
      await look();
      // 3 of 31.
      expect(notified).toEqual([]);
      await send('late-4');
      await logs.until('run_retry', 4);
      await look();
      const [group] = await receiver.failures.list();
      expect(states()).toEqual([`failures_alike ${group?.id} raised`]);
      expect(notified[0]?.message).toBe(
        '4 of 32 attempts of crm have failed in the same way in the last 15 min (Error).',
      );
      expect(logs.of('alert_raised')).toMatchObject([{ alert: 'failures_alike', failure: group?.id }]);
      await receiver.failures.mute(group?.id ?? '');
      await look();
      expect(states().slice(1)).toEqual([`failures_alike ${group?.id} over`]);
      await receiver.failures.unmute(group?.id ?? '');
      await look();
      expect(states().slice(2)).toEqual([`failures_alike ${group?.id} raised`]);
      await look(4 * minute);
      expect(states()).toHaveLength(3);
      await send('good-29');
      await logs.until('run_done', 29);
      await look();
      expect(states().slice(3)).toEqual([`failures_alike ${group?.id} over`]);
    },
  );

  test('leave out what is muted: attempts that fail, and dead letters', { tags: 'long' }, async () => {
    const { receiver, logs, notified, send, look, states } = await watched({
      failedAttempts: 3,
      oldestWaiting: false,
    });
    for (const traceId of ['late-1', 'late-2', 'late-3', 'late-4', 'bad-1']) await send(traceId);
    await logs.until('run_retry', 4);
    await logs.until('run_dead');
    await look();
    expect(states()).toEqual(['dead_letters raised', 'handler_failing crm raised']);
    for (const { id } of await receiver.failures.list()) await receiver.failures.mute(id);
    await look();
    expect(states().slice(2).toSorted()).toEqual(['dead_letters over', 'handler_failing crm over']);
    for (const { id } of await receiver.failures.list()) await receiver.failures.unmute(id);
    await look();
    expect(states().slice(4)).toEqual(['dead_letters raised', 'handler_failing crm raised']);
    expect(notified).toHaveLength(6);
  });

  test('report what has waited for long', async () => {
    const { receiver, notified, send, look, states } = await watched();
    await receiver.handlers.pause('crm');
    await send('good-1');
    await settled(receiver, 1);
    await look();
    expect(notified).toEqual([]);
    await look(15 * minute);
    expect(states()).toEqual(['oldest_waiting raised']);
    expect(notified[0]?.message).toMatch(
      /^The oldest of 1 waiting events and runs has waited for 1[67] min\.$/,
    );
    await receiver.handlers.resume('crm');
    await settled(receiver, 1);
    await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
    await look();
    expect(states()).toEqual(['oldest_waiting raised', 'oldest_waiting over']);
  });

  test('do not end and begin again with what waits around the threshold', async () => {
    const { receiver, send, look, states } = await watched();
    await receiver.handlers.pause('crm');
    await send('good-1', { payload: { call_id: 'call-1' } });
    await look(7 * minute);
    await send('good-2');
    await settled(receiver, 2);
    await look(7 * minute);
    expect(states()).toEqual(['oldest_waiting raised']);
    await receiver.erase({ callId: 'call-1' });
    await look();
    expect(states()).toHaveLength(1);
    await receiver.handlers.resume('crm');
    await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
    await look();
    expect(states()).toEqual(['oldest_waiting raised', 'oldest_waiting over']);
  });

  test('report what has waited for long in the process that has claimed it', async () => {
    const handler = { concurrency: 1, timeout: '1h' } as const;
    const { logs, notified, send, look, states, release } = await watched({}, { handler });
    await send('held-1');
    await send('good-1');
    await look();
    expect(notified).toEqual([]);
    await look(15 * minute);
    expect(states()).toEqual(['oldest_waiting raised']);
    expect(notified[0]?.message).toMatch(
      /^The oldest of 1 waiting events and runs has waited for 1[67] min\.$/,
    );
    release();
    await logs.until('run_done', 2);
    await look();
    expect(states()).toEqual(['oldest_waiting raised', 'oldest_waiting over']);
  });

  test('report deliveries that look genuine and no longer verify, until one does', async () => {
    const { send, look, states } = await watched();
    await send('good-1');
    for (let count = 0; count < 5; count += 1) await send(`good-${count + 2}`, { secrets: otherSecret });
    await look();
    await look();
    expect(states()).toEqual(['secret_suspected raised']);
    await send('good-9');
    await look();
    expect(states()).toEqual(['secret_suspected raised', 'secret_suspected over']);
  });

  test(
    'report that no delivery has come for longer than usual, which is known after a week',
    { tags: 'long' },
    async () => {
      // Pauses are measured in whole hours, so that the hour must not be nearly over.
      const clock = new ManualClock(Math.floor(Date.now() / hour) * hour);
      const { send, look, notified, states } = await watched({}, { clock });
      for (let count = 0; count < 15; count += 1) {
        await send(`good-${count}`);
        await look(12 * hour);
      }
      expect(notified).toEqual([]);
      await look(5 * hour);
      expect(notified).toEqual([]);
      await look(2 * hour);
      expect(states()).toEqual(['no_deliveries raised']);
      expect(notified[0]?.message).toMatch(
        /^No delivery has been accepted for 18 h, longer than ever in the two weeks before \(11 h\): /,
      );
      await send('good-100');
      await look();
      expect(states()).toEqual(['no_deliveries raised', 'no_deliveries over']);
    },
  );

  test(
    'report a clock hour without a delivery, if each hour of the week before had one',
    { tags: 'long' },
    async () => {
      const clock = new ManualClock(Math.floor(Date.now() / hour) * hour);
      const { send, look, notified, states } = await watched({}, { clock });
      for (let count = 0; count <= 7 * 24; count += 1) {
        await send(`good-${count}`);
        await look(hour - minute);
      }
      expect(notified).toEqual([]);
      // One at the beginning of an hour and one at the end of the next is nothing unusual.
      await look(55 * minute);
      expect(notified).toEqual([]);
      await look(5 * minute);
      expect(states()).toEqual(['no_deliveries raised']);
      expect(notified[0]?.message).toMatch(
        /^No delivery has been accepted for 6\d min, although before that there was at least one every hour: /,
      );
      // Of what came before, first no more than an hour is looked at, and then nothing.
      for (const pause of [14 * day - 3 * hour, hour, hour, hour]) await look(pause);
      expect(states()).not.toContain('no_deliveries over');
      await send('good-200');
      await look();
      expect(states().at(-1)).toBe('no_deliveries over');
    },
  );

  test('do not report missing deliveries after a single trial', async () => {
    const { send, look, notified } = await watched();
    await send('good-1');
    for (const pause of [hour, 6 * day, day, day]) await look(pause);
    expect(notified).toEqual([]);
  });

  test(
    'report that no delivery has come for the set time, but not before the first one',
    { tags: 'long' },
    async () => {
      const { send, look, notified, states } = await watched({ noDeliveries: '30m' });
      await look(hour);
      expect(notified).toEqual([]);
      await send('good-1');
      await look(29 * minute);
      expect(notified).toEqual([]);
      await look(2 * minute);
      expect(states()).toEqual(['no_deliveries raised']);
      // Longer than what is looked at: nothing has come all the same.
      await look(15 * day);
      for (let count = 0; count < 3; count += 1) await look();
      expect(states()).not.toContain('no_deliveries over');
      await send('good-2');
      await look();
      expect(states().at(-1)).toBe('no_deliveries over');
    },
  );

  test('do not take missing deliveries for less long once the last one is an hour ago', async () => {
    const clock = new ManualClock(Math.floor(Date.now() / hour) * hour + 10 * minute);
    const { send, look, states } = await watched({ noDeliveries: '30m' }, { clock });
    await send('good-1');
    await look(31 * minute);
    expect(states()).toEqual(['no_deliveries raised']);
    await look(29 * minute);
    for (let count = 0; count < 3; count += 1) await look();
    expect(states()).toEqual(['no_deliveries raised']);
  });

  test('do not take a wall clock that was set for a time without deliveries', { tags: 'long' }, async () => {
    const { clock, send, look, states } = await watched({ noDeliveries: '30m' });
    await send('good-1');
    await look();
    clock.setWallClock(2 * day);
    await look();
    await look();
    expect(states()).toEqual([]);
    await send('good-2');
    await look(hour);
    expect(states()).toEqual(['no_deliveries raised']);
    clock.setWallClock(hour);
    await look();
    expect(states()).toEqual(['no_deliveries raised']);
    await look(hour);
    await send('good-3');
    await look();
    expect(states()).toEqual(['no_deliveries raised', 'no_deliveries over']);
  });

  test('report new drift for a day', async () => {
    const { receiver, logs, send, look, states } = await watched();
    await send('good-1', { payload: { novel: 1 } });
    await logs.until('run_done');
    await receiver.drift.list();
    await look();
    expect(states()).toEqual(['drift raised']);
    // The first look was a whole minute after it, if it came as one began.
    await look(day - 3 * minute);
    expect(states()).toEqual(['drift raised']);
    await look(3 * minute);
    expect(states().slice(1)).toEqual(['drift over']);
  });

  test.skipIf(isOnPostgres)('report a disk that is nearly full', async () => {
    const { look, notified } = await watched({ freeDisk: '9000000gb' });
    await look();
    expect(notified).toMatchObject([{ name: 'disk', state: 'raised' }]);
    expect(notified[0]?.message).toMatch(/^The disk of the inbox has only \d+ MB left\.$/);
  });

  test('are sent by one of all processes', { tags: 'long' }, async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const [one, other] = [await watched({}, { clock, database }), await watched({}, { clock, database })];
    await one.send('bad-1');
    await expect.poll(async () => (await one.receiver.counts()).runs.dead).toBe(1);
    await one.look();
    await expect.poll(() => one.notified.length + other.notified.length).toBe(1);
    await one.look();
    expect(one.notified.length + other.notified.length).toBe(1);
    await one.receiver.events.dismiss({ state: 'dead' }, { reason: 'no' });
    await one.look();
    await expect.poll(() => one.notified.length + other.notified.length).toBe(2);
  });

  test('are sent although a process without notify finds them first', { tags: 'long' }, async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    await watched({}, { clock, database, notifies: false });
    const telling = await watched({ deadLetters: 2 }, { clock, database });
    const states = async () => {
      await telling.look();
      return telling.states();
    };
    const raised = () => telling.receiver.alerts.list();
    await telling.send('bad-1');
    await expect.poll(async () => (await telling.receiver.counts()).runs.dead).toBe(1);
    await expect.poll(async () => (await states(), await raised())).toHaveLength(1);
    for (let count = 0; count < 6; count += 1) expect(await states()).toEqual([]);
    await telling.send('bad-2');
    await expect.poll(async () => (await telling.receiver.counts()).runs.dead).toBe(2);
    await expect.poll(states).toEqual(['dead_letters raised']);
    for (let count = 0; count < 6; count += 1) expect(await states()).toEqual(['dead_letters raised']);
    await telling.receiver.events.dismiss({ state: 'dead' }, { reason: 'no' });
    await expect.poll(states).toEqual(['dead_letters raised', 'dead_letters over']);
    expect(await raised()).toEqual([]);
  });

  test('are ended by a process with notify, although one without it looks first', async () => {
    const database = temporaryDatabase();
    const start = Date.now();
    const one = (notifies: boolean) =>
      watched({ failedAttempts: false }, { clock: new ManualClock(start), database, notifies });
    const [silent, telling] = [await one(false), await one(true)];
    await telling.send('bad-1');
    await expect.poll(async () => (await telling.receiver.counts()).runs.dead).toBe(1);
    await telling.look();
    await silent.look();
    await telling.receiver.events.dismiss({ state: 'dead' }, { reason: 'no' });
    await silent.look();
    await telling.look();
    expect(telling.states()).toEqual(['dead_letters raised', 'dead_letters over']);
  });

  test('of which nobody was notified are over without a notification', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const silent = await watched({ failedAttempts: false }, { clock, database, notifies: false });
    await silent.send('bad-1');
    await silent.logs.until('run_dead');
    await silent.look();
    expect(await silent.receiver.alerts.list()).toHaveLength(1);
    await silent.receiver.stop();
    const telling = await watched({ deadLetters: 9, failedAttempts: false }, { clock, database });
    for (let count = 0; count < 6; count += 1) await telling.look();
    expect(await telling.receiver.alerts.list()).toEqual([]);
    expect(telling.states()).toEqual([]);
  });

  test(
    'of a secret are not over while another process, with another secret, finds them',
    { tags: 'long' },
    async () => {
      const clock = new ManualClock();
      const database = temporaryDatabase();
      const [one, other] = [await watched({}, { clock, database }), await watched({}, { clock, database })];
      await one.send('good-1');
      for (let count = 0; count < 5; count += 1)
        await one.send(`good-${count + 2}`, { secrets: otherSecret });
      const states = async (traceId: string) => {
        await other.send(traceId);
        await one.look();
        return [...one.states(), ...other.states()];
      };
      await expect.poll(() => states('good-9')).toEqual(['secret_suspected raised']);
      for (let count = 10; count < 16; count += 1)
        expect(await states(`good-${count}`)).toEqual(['secret_suspected raised']);
      await one.receiver.stop();
      const left = async () => {
        await other.send('good-20');
        await other.look();
        return other.receiver.alerts.list();
      };
      await expect.poll(left).toEqual([]);
      expect([...one.states(), ...other.states()]).toEqual([
        'secret_suspected raised',
        'secret_suspected over',
      ]);
    },
  );

  test.each([-4 * minute, 4 * minute])(
    'are not over while another process finds them, whose clock is off by %i ms',
    { tags: 'long' },
    async (skew) => {
      const database = temporaryDatabase();
      const start = Date.now();
      const finding = await watched({ deadLetters: 1 }, { clock: new ManualClock(start), database });
      const other = await watched({ deadLetters: 9 }, { clock: new ManualClock(start + skew), database });
      await finding.send('bad-1');
      await settled(finding.receiver, 1);
      const states = async () => {
        await finding.look();
        await other.look();
        return [...finding.states(), ...other.states()];
      };
      for (let count = 0; count < 6; count += 1) expect(await states()).toEqual(['dead_letters raised']);
      await finding.receiver.stop();
      for (let count = 0; count < 6; count += 1) await other.look();
      expect(other.states()).toEqual(['dead_letters over']);
    },
  );

  test(
    'are reminded of once a day although the clock of another process that finds them is days ahead',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const start = Date.now();
      const one = await watched({ deadLetters: 1 }, { clock: new ManualClock(start), database });
      const other = await watched({ deadLetters: 1 }, { clock: new ManualClock(start + 3 * day), database });
      await one.send('bad-1');
      await settled(one.receiver, 1);
      const notifiedAfter = async (pause: number) => {
        for (let count = 0; count < 6; count += 1) for (const { look } of [one, other]) await look();
        const states = [...one.states(), ...other.states()];
        for (const { clock } of [one, other]) clock.advance(pause);
        return states;
      };
      const [raised, reminded] = ['dead_letters raised', 'dead_letters reminded'];
      expect(await notifiedAfter(day)).toEqual([raised, reminded]);
      await notifiedAfter(0);
      expect((await notifiedAfter(0)).length).toBeLessThanOrEqual(4);
    },
  );

  test('sent to a function that never ends do not block a stop', async () => {
    const notified = Promise.withResolvers<Alert>();
    const notify = (alert: Alert) => {
      notified.resolve(alert);
      return new Promise<void>(() => {});
    };
    const { receiver, logs, send, look } = await watched({ notify, failedAttempts: false });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    expect((await notified.promise).name).toBe('dead_letters');
    await receiver.stop();
    expect(logs.of('alert_failed')).toMatchObject([{ cause: 'the receiver has stopped' }]);
  });

  test('that are switched off are not raised', { tags: 'long' }, async () => {
    const { logs, notified, send, look } = await watched({
      deadLetters: false,
      failedAttempts: false,
      oldestWaiting: false,
      noDeliveries: false,
    });
    for (let count = 0; count < 12; count += 1) await send(`bad-${count}`);
    await logs.until('run_dead', 12);
    await look(3 * hour);
    expect(notified).toEqual([]);
    expect(logs.of('alert_raised')).toEqual([]);
  });
});

describe('a webhook of an alert', () => {
  const secret = 'whsec_dGhlIHNlY3JldCBvZiBhbGVydHM=';

  test('is JSON that Slack takes, signed as Standard Webhooks says', async () => {
    const requests: { headers: Record<string, string>; body: string }[] = [];
    const url = await answering((request) => {
      requests.push(request);
      return 200;
    });
    const { receiver, logs, send, look } = await watched({ notify: { url, secret } });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    await expect.poll(() => requests.length).toBe(1);
    const [{ headers, body } = { headers: {}, body: '' }] = requests;
    expect(new Webhook(secret).verify(body, headers)).toEqual({
      text: 'Ringback: dead_letters raised. 1 run of crm is a dead letter: it is not retried.',
      alert: {
        name: 'dead_letters',
        state: 'raised',
        since: expect.stringMatching(/^\d{4}-.*Z$/),
        message: '1 run of crm is a dead letter: it is not retried.',
      },
    });
    await receiver.events.dismiss({ state: 'dead' }, { reason: 'by hand' });
    await look();
    await expect.poll(() => requests.length).toBe(2);
    expect(JSON.parse(requests[1]?.body ?? '')).toMatchObject({
      text: expect.stringMatching(/^Ringback: dead_letters\. It is over, after \d+ \w+\.$/),
    });
  });

  test('names the handler and the error of failures that are alike, and no id of a group', async () => {
    const texts: string[] = [];
    const url = await answering(({ body }) => {
      texts.push((JSON.parse(body) as { text: string }).text);
      return 200;
    });
    const { receiver, logs, send, look } = await watched({
      notify: url,
      failedAttempts: 1,
      oldestWaiting: false,
    });
    for (const traceId of ['good-1', 'late-1']) await send(traceId);
    await logs.until('run_done');
    await logs.until('run_retry');
    await look();
    const message = '1 of 2 attempts of crm have failed in the same way in the last 15 min (Error).';
    await expect.poll(() => texts).toEqual([`Ringback: failures_alike raised. ${message}`]);
    await receiver.failures.mute((await receiver.failures.list())[0]?.id ?? '');
    await look();
    await expect.poll(() => texts.length).toBe(2);
    expect(texts[1]).toMatch(/^Ringback: failures_alike\. It is over, after \d+ \w+\. It was: /);
    expect(texts[1]).toContain(message);
  });

  test('that fails is sent again a minute later, and not any more once it was accepted', async () => {
    let status = 503;
    const states: string[] = [];
    const url = await answering(({ body }) => {
      states.push((JSON.parse(body) as { alert: { state: string } }).alert.state);
      return status;
    });
    const { logs, send, look } = await watched({ notify: url });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    expect(await logs.until('alert_failed')).toMatchObject([
      { alert: 'dead_letters', cause: 'the webhook was answered with 503' },
    ]);
    status = 200;
    await expect.poll(async () => (await look(), states)).toEqual(['raised', 'raised']);
    await look();
    expect(states).toHaveLength(2);
  });

  test.each([
    ['is sent again a minute later', false, ['raised', 'over', 'over']],
    ['is not sent again if it has been raised again', true, ['raised', 'over', 'raised']],
  ])('of an end that is not taken %s', { tags: 'long' }, async (_, isRaisedAgain, expected) => {
    const states: string[] = [];
    const url = await answering(({ body }) => {
      const { state } = (JSON.parse(body) as { alert: { state: string } }).alert;
      return states.push(state) === 2 ? 503 : 200;
    });
    const { receiver, logs, send, look } = await watched({ notify: url, failedAttempts: false });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    await expect.poll(() => states).toEqual(['raised']);
    await receiver.events.dismiss({ state: 'dead' }, { reason: 'no' });
    await look();
    expect(await logs.until('alert_failed')).toMatchObject([{ alert: 'dead_letters' }]);
    if (isRaisedAgain) {
      await send('bad-2');
      await logs.until('run_dead', 2);
    }
    await look();
    await expect.poll(() => states).toEqual(expected);
    for (let count = 0; count < 3; count += 1) await look();
    expect(states).toEqual(expected);
    expect(logs.of('alert_over')).toHaveLength(1);
  });

  test.each([
    ['is sent again a minute later', false, ['raised', 'reminded', 'reminded']],
    ['does not keep the end from being sent', true, ['raised', 'reminded', 'over']],
  ])('of a reminder that is not taken %s', { tags: 'long' }, async (_, ends, expected) => {
    const states: string[] = [];
    const url = await answering(({ body }) => {
      const { state } = (JSON.parse(body) as { alert: { state: string } }).alert;
      return states.push(state) === 2 ? 503 : 200;
    });
    const { receiver, logs, send, look } = await watched({
      notify: url,
      failedAttempts: false,
      remind: '1h',
    });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    await expect.poll(() => states).toEqual(['raised']);
    await look(hour);
    expect(await logs.until('alert_failed')).toMatchObject([{ alert: 'dead_letters' }]);
    if (ends) await receiver.events.dismiss({ state: 'dead' }, { reason: 'no' });
    await expect.poll(async () => (await look(), states)).toEqual(expected);
    for (let count = 0; count < 3; count += 1) await look();
    expect(states).toEqual(expected);
  });

  test('that is never answered blocks neither a stop nor later alerts', async () => {
    const url = await answering(() => undefined);
    const { receiver, logs, send, look } = await watched({ notify: url, failedAttempts: 1 });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    await look();
    expect(await receiver.alerts.list()).toHaveLength(2);
    await receiver.stop();
    expect(logs.of('alert_failed').length).toBeGreaterThan(0);
  });

  test('does not follow a redirect', async () => {
    let isFollowed = false;
    const elsewhere = await answering(() => {
      isFollowed = true;
      return 200;
    });
    const url = await answering(() => ({ status: 307, location: elsewhere }));
    const { logs, send, look } = await watched({ notify: url });
    await send('bad-1');
    await logs.until('run_dead');
    await look();
    await logs.until('alert_failed');
    expect(logs.of('alert_failed')).toMatchObject([{ cause: 'unexpected redirect' }]);
    expect(isFollowed).toBe(false);
  });
});

describe('the options of alerts', () => {
  test.each([
    [
      { deadLetters: 0 },
      'The option alerts.deadLetters should be a whole number of 1 or more, or false, but is 0.',
    ],
    [
      { noDeliveries: 'usual' },
      "should be 'unusual', milliseconds or a duration such as '90s', '5m', '30d', or false",
    ],
    [
      { notify: 7 },
      'The option alerts.notify should be a function, an http or https address, or { url, secret }',
    ],
    [
      { notify: 'hooks.example.com' },
      'or { url, secret }, but is text that does not begin with http:// or https://.',
    ],
    [
      { notify: { url: 'https://ada:pass@hooks.example.com/' } },
      'The option alerts.notify.url should be an http or https address, but is one with a user name or password.',
    ],
    [{ notify: 'https://' }, "or { url, secret }, but is text that can't be read as an address."],
    [
      { notify: { url: undefined } },
      'The option alerts.notify.url should be an http or https address, but is undefined.',
    ],
    [
      { notify: { url: 'https://hooks.example.com/', secret: '' } },
      'The option alerts.notify.secret should be whsec_ and base64, or left out, but is empty.',
    ],
    [
      { notify: { url: 'https://hooks.example.com/', secret: undefined } },
      'The option alerts.notify.secret should be whsec_ and base64, or left out, but is undefined.',
    ],
    [{ silence: '5m' }, 'alerts'],
  ])('are checked: %j', (alerts, message) => {
    expect(() => made({ alerts: alerts as never })).toThrow(ConfigError);
    expect(() => made({ alerts: alerts as never })).toThrow(message);
  });

  test.each([
    'hooks.example.com/T000/sesame',
    'https://sesame@hooks.example.com/',
    { url: 'https://hooks.example.com/', secret: 'sesame' },
    { url: 'https://hooks.example.com/', secret: 'whsec_sesame!' },
    { url: 'https://hooks.example.com/', secrets: 'whsec_c2VzYW1l' },
  ])('never quote an address or a secret', (notify) => {
    expect(() => made({ alerts: { notify } })).toThrow(ConfigError);
    expect(() => made({ alerts: { notify } })).not.toThrow('sesame');
  });
});
