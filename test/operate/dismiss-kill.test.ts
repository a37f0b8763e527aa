// @module-tag long
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliverAll } from '../support/deliveries.ts';
import { Script } from '../support/process.ts';
import { Discard } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const script = fileURLToPath(new URL('./dismiss-process.ts', import.meta.url));
const count = 1_050;

/** An inbox of many dead letters. */
async function filledDatabase(): Promise<string> {
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database, clock: new ManualClock() }, (r) =>
    r.on('*', { name: 'crm-sync' }, () => {
      throw new Discard('never');
    }),
  );
  await deliverAll(
    receiver,
    Array.from({ length: count }, () => bodyOf()),
  );
  await logs.until('run_dead', count);
  await receiver.stop();
  return database;
}

test('a dismissal whose process is killed continues at the next start', async () => {
  const database = await filledDatabase();
  const child = new Script(script, JSON.stringify({ database }));
  expect(await child.exit()).toBeNull();
  expect(child.said('survived')).toEqual([]);

  const { receiver, logs } = await started({ database }, () => {});
  await logs.until('runs_dismissed');
  expect(await receiver.counts()).toMatchObject({ events: { done: count }, runs: { dead: 0 } });
  expect((await receiver.audit.list()).entries).toMatchObject([{ runs: count, progress: { state: 'done' } }]);
  const reasons: (string | undefined)[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await receiver.events.list({ handler: 'crm-sync', limit: 1_000, cursor });
    reasons.push(...page.events.flatMap(({ runs }) => runs.map((run) => run.reason)));
    ({ cursor } = page);
  }
  expect(reasons).toHaveLength(count);
  for (const reason of reasons) expect(reason).toMatch(/^dismissed by the first: a test/);
});
