/** Events that processes have died over: only one of their runs is under way at a time. */
import { expect, test } from 'vitest';
import { faultyStore } from '../faults/faulty-store.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

/** Makes it look as if two processes had died over each event. */
const makeSuspect = `
  create trigger make_suspect after insert on waiting begin
    insert into takeovers values (new.sequence, 2);
  end`;

test('each handler has its turn, whichever was registered first', async () => {
  const clock = new ManualClock();
  const database = faultyStore(':memory:', clock, () => undefined, { handsOver: false });
  const seen: string[] = [];
  let active = 0;
  let mostActive = 0;
  const { receiver } = await started({ clock, database }, (r) => {
    r.database.exec(makeSuspect);
    for (const name of ['one', 'another'])
      r.on('*', { name }, async ({ traceId }) => {
        active += 1;
        mostActive = Math.max(mostActive, active);
        seen.push(`${name} ${traceId}`);
        await new Promise(setImmediate);
        active -= 1;
      });
  });
  for (const traceId of ['first', 'second', 'third']) await deliver(receiver, bodyOf({ traceId }));
  while ((await receiver.counts()).events.done < 3) await new Promise(setImmediate);
  expect(seen.slice(0, 4)).toEqual(['one first', 'another first', 'one second', 'another second']);
  expect(seen).toHaveLength(6);
  expect(mostActive).toBe(1);
});
