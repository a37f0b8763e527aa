import { expect, test } from 'vitest';
import type { Logs } from '../support/logs.ts';
import type { JoinOptions, ReceiverOptions } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';

const handler = () => {};
const join: JoinOptions = { name: 'join', events: ['CallHandler.CallEnded'], within: '1m' };
const warned = (logs: Logs) =>
  logs
    .of('duration_suspicious')
    .map((line) =>
      [line['option'], line['milliseconds'], line['handler']].filter((value) => value !== undefined),
    );

test.each<[string, number, ReceiverOptions]>([
  ['timeout', 30, { timeout: 30 }],
  ['tolerance', 300, { tolerance: 300 }],
  ['limits.bodyTimeout', 10, { limits: { bodyTimeout: 10 } }],
  ['retention.done', 86_400, { retention: { done: 86_400 } }],
  ['retention.dead', 90, { retention: { dead: 90 } }],
  ['retention.quarantine', 604_800, { retention: { quarantine: 604_800 } }],
  ['retention.traceIds', 180, { retention: { traceIds: 180 } }],
  ['alerts.oldestWaiting', 900, { alerts: { oldestWaiting: 900 } }],
  ['alerts.noDeliveries', 600, { alerts: { noDeliveries: 600 } }],
  ['alerts.remind', 60, { alerts: { remind: 60 } }],
])(
  '%s: %i is reported at start, as it was probably meant as seconds',
  async (option, milliseconds, options) => {
    const { logs } = await started(options);
    expect(warned(logs)).toEqual([[option, milliseconds]]);
    expect(logs.of('duration_suspicious')[0]).toMatchObject({
      level: 40,
      msg: expect.stringMatching(/'30s'/v) as string,
    });
  },
);

test('it is logged for handlers and joins as well, with their names, and for a stop', async () => {
  const { logs, receiver } = await started({}, (r) =>
    r
      .on('*', { name: 'all', timeout: 30 }, handler)
      .on('CallHandler.CallEnded', { timeout: '30ms' }, handler)
      .onCall({ ...join, within: 120, timeout: 60 }, handler),
  );
  const ofHandlers = [
    ['timeout', 30, 'all'],
    ['timeout', 60, 'join'],
    ['within', 120, 'join'],
  ];
  expect(warned(logs)).toEqual(ofHandlers);
  await receiver.stop({ drain: 10 });
  expect(warned(logs)).toEqual([...ofHandlers, ['drain', 10]]);
});

test('nothing is logged for zero, a unit, options that may be short, and no value', async () => {
  const { logs, receiver } = await started(
    {
      timeout: '30ms',
      tolerance: 1_000,
      limits: { bodyTimeout: '10ms' },
      retention: { done: 0, dead: '30ms', quarantine: 3_600_000 },
      retry: { base: 10, cap: 60 },
      alerts: { oldestWaiting: false, noDeliveries: 'unusual' },
    },
    (r) => r.on('*', { retry: { base: 1, cap: 20 } }, handler).onCall({ ...join, within: 0 }, handler),
  );
  await receiver.stop({ drain: 0 });
  expect(warned(logs)).toEqual([]);
});

test('it is logged by a receiver that starts, not by one that is only created', async () => {
  const { logs, receiver } = made({ timeout: 30 });
  receiver.on('*', handler);
  expect(warned(logs)).toEqual([]);
  await receiver.start();
  expect(warned(logs)).toEqual([['timeout', 30]]);
});
