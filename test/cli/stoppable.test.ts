import { expect, test } from 'vitest';
import { resultUnlessStopped } from '../../src/cli/inbox/stoppable.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

const never = new Promise(() => {});

async function handled() {
  const { receiver, logs } = await started({}, (r) => r.on('*', { name: 'crm' }, () => {}));
  for (const traceId of ['a', 'b']) await deliver(receiver, bodyOf({ traceId }));
  await logs.until('run_done', 2);
  return receiver;
}

test('a signal stops the replay of a command, so that no receiver continues it', async () => {
  const { events, audit } = await handled();
  const begun = await events.beginReplay({ since: 0 }, { rate: 0.001 });
  expect(await resultUnlessStopped(events, begun, Promise.resolve('SIGINT'), 'ann')).toBeUndefined();
  const { entries } = await audit.list();
  expect(entries).toMatchObject([{ action: 'stop', by: 'ann' }, { progress: { state: 'stopped' } }]);
});

test('a replay that somebody else stops is no result either', async () => {
  const { events } = await handled();
  const begun = await events.beginReplay({ since: 0 }, { rate: 0.001 });
  const result = resultUnlessStopped(events, begun, never, undefined);
  expect(await events.stop(begun.id ?? 0)).toBe(true);
  expect(await result).toBeUndefined();
});

test('without a signal, the result is that of the replay', async () => {
  const { events } = await handled();
  const begun = await events.beginReplay({ since: 0 }, {});
  expect(await resultUnlessStopped(events, begun, never, undefined)).toMatchObject({
    state: 'done',
    runs: 2,
  });
});
