/** A disk that takes a commit but doesn't confirm it, as a full or broken disk does. */
import { describe, expect, test } from 'vitest';
import { Unconfirmed } from '../../src/store/claims.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import type { Store } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';

/** A store whose disk confirms a commit after it has refused this many times. */
function storeThatRefuses(clock: ManualClock, refusals: number): Store {
  let asked = 0;
  const confirm = (): Promise<void> => {
    asked += 1;
    return asked > refusals ? Promise.resolve() : Promise.reject(new Error('the disk refused'));
  };
  return storeAround(':memory:', clock, (method, work) =>
    method === 'settleWith'
      ? async (...given) => {
          await work(...given);
          throw new Unconfirmed(new Error('the disk refused'), confirm);
        }
      : undefined,
  );
}

/** A receiver whose handler commits a row, and a list of what the handler has seen. */
async function writing(refusals: number) {
  const clock = new ManualClock();
  const seen: string[] = [];
  const { receiver, logs } = await started({ clock, database: storeThatRefuses(clock, refusals) }, (r) => {
    r.database.exec('create table effects (trace_id text)');
    r.on('*', async ({ traceId }, { commit }) => {
      seen.push('begun');
      await commit((db) => void db.prepare('insert into effects values (?)').run(traceId)).then(
        () => seen.push('committed'),
        () => seen.push('refused'),
      );
    });
  });
  const body = bodyOf({ traceId: 'trace-1' });
  expect((await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }))).status).toBe(200);
  const effects = () => receiver.database.prepare('select trace_id from effects').all();
  return { receiver, clock, logs, seen, effects };
}

async function turns(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

describe('a commit that the disk does not confirm', () => {
  test('is waited for, and resolves once it is confirmed', async () => {
    const { receiver, clock, logs, seen, effects } = await writing(3);
    await turns();
    expect(seen).toEqual(['begun']);
    expect(logs.of('run_done')).toEqual([]);
    for (let seconds = 0; seconds < 3; seconds += 1) {
      clock.advance(1_000);
      await turns();
    }
    expect(seen).toEqual(['begun', 'committed']);
    expect(effects()).toEqual([{ trace_id: 'trace-1' }]);
    expect(logs.of('run_done')).toHaveLength(1);
    expect(logs.of('run_lost')).toEqual([]);
    expect((await receiver.counts()).events.done).toBe(1);
  });

  test('does not keep the receiver from stopping', async () => {
    const { receiver, clock, seen } = await writing(Infinity);
    await turns();
    await clock.runUntil(receiver.stop({ drain: 0 }));
    expect(seen).toEqual(['begun', 'refused']);
  });
});
