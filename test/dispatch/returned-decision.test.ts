import { describe, expect, test } from 'vitest';
import { deadLettersOf } from '../support/dead-letters.ts';
import { deliver } from '../support/deliveries.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { Discard, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';

const kinds: [string, (decision: Error) => unknown][] = [
  ['returned', (decision) => decision],
  ['what a promise resolves to', (decision) => Promise.resolve(decision)],
  [
    'returned by an asynchronous handler after a while',
    async (decision) => {
      await new Promise((resolve) => void setImmediate(resolve));
      return decision;
    },
  ],
];

describe.each(kinds)('a decision that is %s', (_how, hand) => {
  test('makes the run a dead letter, as if the Discard were thrown', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', () => hand(new Discard('no such customer'))),
    );
    await deliver(receiver);
    expect(await logs.until('run_dead')).toMatchObject([{ cause: 'Discard', attempt: 1 }]);
    expect(await deadLettersOf(receiver)).toMatchObject([{ reason: 'no such customer' }]);
    expect(logs.of('run_done')).toEqual([]);
  });

  test('makes the run wait, as if the RetryLater were thrown', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', () => hand(new RetryLater('10m', 'no analysis'))),
    );
    await deliver(receiver);
    expect(await logs.until('run_retry')).toMatchObject([{ cause: 'RetryLater', attempt: 1 }]);
    expect((await receiver.events.list()).events).toMatchObject([
      { state: 'open', runs: [{ state: 'due', reason: 'no analysis' }] },
    ]);
  });
});

test.skipIf(isOnPostgres)(
  'a decision that is returned by what ctx.commit is given undoes it, as if it were thrown',
  async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', (_event, context) =>
        context.commit((database) => {
          database.prepare('create table orders (id)').run();
          return new Discard('no such customer');
        }),
      ),
    );
    await deliver(receiver);
    expect(await logs.until('run_dead')).toMatchObject([{ cause: 'Discard', attempt: 1 }]);
    expect(receiver.database.prepare("select 1 from sqlite_schema where name = 'orders'").all()).toEqual([]);
  },
);

test('a run is done if its handler returns a value that throws when it is inspected', async () => {
  const refuse = () => {
    throw new Error('look away');
  };
  const { receiver, logs } = await started({}, (r) => r.on('*', () => new Proxy({}, { has: refuse })));
  await deliver(receiver);
  await logs.until('run_done');
});

test('an error that is returned and is no decision says nothing: the run is done', async () => {
  const { receiver, logs } = await started({}, (r) => r.on('*', () => new Error('returned')));
  await deliver(receiver);
  await logs.until('run_done');
});
