/** Events that arrive while a replay of their call waits for its time. */
import { expect, test } from 'vitest';
import { deliver } from '../support/deliveries.ts';
import { rowsIn } from '../support/inbox.ts';
import { Discard } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { eventOf } from './one-call.ts';

test('are due with the last of it, whatever time their way back to the inbox takes', async () => {
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database }, (r) => {
    for (const name of ['one', 'another'])
      r.on('*', { name }, () => {
        throw new Discard('down');
      });
  });
  for (const traceId of ['first', 'second']) await deliver(receiver, eventOf(traceId));
  await logs.until('run_dead', 4);
  await receiver.events.replay({ state: 'dead' }, { rate: 0.001 });
  for (let place = 0; place < 30; place += 1) await deliver(receiver, eventOf(`later-${place}`));
  while ((await receiver.counts()).events.new > 0) await new Promise(setImmediate);
  const dueTimes = await rowsIn(
    database,
    "select handler, due_at from runs where sequence > 1 and state = 'due' group by 1, 2",
  );
  // All runs of a handler have the same time: runs that are due at the same time go in order of arrival.
  expect(dueTimes).toHaveLength(2);
});
