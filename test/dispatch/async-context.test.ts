import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const names = Array.from({ length: 8 }, (_, index) => `request-${index}`);

/** As an app does that keeps the id of a request, or a tenant, for everything that is called while it is served. */
const deliverWithin = (storage: AsyncLocalStorage<string>, receiver: Parameters<typeof deliver>[0]) =>
  Promise.all(
    names.map((name) => storage.run(name, () => deliver(receiver, bodyOf({ traceId: `of ${name}` })))),
  );

test("a handler finds no request in the app's AsyncLocalStorage, least of all another's", async () => {
  const storage = new AsyncLocalStorage<string>();
  const found: unknown[] = [];
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database, retry: { base: 0 } }, (r) =>
    r.on('*', (_event, { attempt }) => {
      found.push(storage.getStore());
      if (attempt === 1) throw new Error('once more');
    }),
  );
  await deliverWithin(storage, receiver);
  await logs.until('run_done', names.length);
  expect(found).toEqual(Array.from({ length: 2 * names.length }, () => undefined));
});

test('a handler finds what was there when the receiver was made', async () => {
  const storage = new AsyncLocalStorage<string>();
  const found: unknown[] = [];
  const { receiver, logs } = storage.run('the app', () => made());
  receiver.on('*', () => void found.push(storage.getStore()));
  await receiver.start();
  await deliverWithin(storage, receiver);
  await logs.until('run_done', names.length);
  expect(found).toEqual(names.map(() => 'the app'));
});

test('the effects of a commit are made in the context of their handler', async () => {
  const storage = new AsyncLocalStorage<string>();
  const found = new Map<string, string | undefined>();
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database }, (r) =>
    r.on('*', ({ traceId }, { commit }) =>
      storage.run(`handler ${traceId}`, () =>
        commit(() => {
          found.set(traceId, storage.getStore());
        }),
      ),
    ),
  );
  await deliverWithin(storage, receiver);
  await logs.until('run_done', names.length);
  expect([...found].filter(([traceId, context]) => context !== `handler ${traceId}`)).toEqual([]);
  expect(found.size).toBe(names.length);
});
