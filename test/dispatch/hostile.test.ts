import { describe, expect, test } from 'vitest';
import { turn } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import { started } from '../support/receiver.ts';
import { RetryLater } from '../support/public.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** Changes an event, which a handler should not do and TypeScript doesn't allow. */
function change(event: object, fields: Record<string, unknown>): void {
  Object.assign(event, fields);
}

describe('what a handler does to its event', () => {
  test.each([
    ['another text', () => 'changed'],
    ['no text at all', () => ({ toString: null })],
    ['nothing', () => undefined],
  ])('harms neither later events of the call nor its siblings: %s', async (_, value) => {
    const seen: string[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('*', { name: 'changing' }, (event) => {
          change(event, { callId: value(), traceId: value(), eventName: value() });
        })
        .on('*', { name: 'sibling' }, (event) => seen.push(event.traceId)),
    );
    for (const traceId of ['1', '2', '3']) await deliver(receiver, bodyOf({ traceId, callId: 'call-1' }));
    const done = await logs.until('run_done', 6);
    expect(seen).toEqual(['1', '2', '3']);
    expect(new Set(done.map((line) => line['callId']))).toEqual(new Set(['call-1']));
  });
});

test.each([8.64e15, 1e300])(
  'RetryLater with a time beyond all calendars (%d) is a retry like any other',
  async (delay) => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', () => {
        throw new RetryLater(delay, 'much later');
      }),
    );
    await deliver(receiver);
    expect(await logs.until('run_retry')).toMatchObject([{ cause: 'RetryLater' }]);
    expect(logs.of('dispatch_failed')).toEqual([]);
  },
);

test('an error whose list of errors throws as it is gone through is a failure like any other', async () => {
  class Unreadable extends Array<unknown> {
    override [Symbol.iterator](): ArrayIterator<unknown> {
      throw new Error('not to be gone through');
    }
  }
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', () => {
      const errors = new Unreadable();
      throw Object.assign(new AggregateError([], 'several'), { errors });
    }),
  );
  await deliver(receiver);
  expect(await logs.until('run_retry')).toMatchObject([{ cause: 'AggregateError' }]);
});

test.each([
  ['a list', ['secret']],
  ['a symbol', Symbol('secret')],
  ['a sentence', 'the secret'],
])('an error whose name is %s is reported by its class', async (_, name) => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', () => {
      throw Object.assign(new Error('failed'), { name });
    }),
  );
  await deliver(receiver);
  expect(await logs.until('run_retry')).toMatchObject([{ cause: 'Error' }]);
});

test('a thrown value that throws when it is inspected is a failure like any other, inside a commit as well', async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) =>
    r.on('*', ({ traceId }, { commit }) =>
      commit(() => {
        if (traceId === 'first') throw proxy;
      }),
    ),
  );
  await deliver(receiver, bodyOf({ traceId: 'first' }));
  await logs.until('run_retry');
  await deliver(receiver, bodyOf({ traceId: 'second' }));
  expect(await logs.until('run_done')).toMatchObject([{ traceId: 'second' }]);
});

test.skipIf(isOnPostgres)(
  'a backlog of large bodies is taken into memory bit by bit, and all of it is handled',
  { tags: 'long' },
  async () => {
    const gate = new Gate();
    const database = temporaryDatabase();
    let handled = 0;
    const { receiver, logs } = await started({ database, concurrency: 1 }, (r) =>
      r.on('*', async () => {
        await gate.pass();
        handled += 1;
      }),
    );
    const filler = 'x'.repeat(4_000_000);
    for (let index = 0; index < 14; index += 1) {
      await deliver(
        receiver,
        bodyOf({ traceId: `large-${index}`, payload: { call_id: `c-${index}`, filler } }),
      );
    }
    await gate.reached;
    for (let turns = 0; turns < 200; turns += 1) await turn();
    // 56 MB of events wait in all; the claimed ones stay near 32 MB.
    expect((await rowsIn(database, 'select 1 from claims')).length).toBeLessThan(12);
    gate.open();
    await logs.until('run_done', 14);
    expect(handled).toBe(14);
  },
);

test('the location of a failure is that of its own frames, whatever follows them', async () => {
  const { logs, receiver } = await started({}, (r) =>
    r.on('*', () => {
      const cause = new Error('said:\n    at /srv/+15551234567:3:4');
      const error = new Error('outer');
      error.stack = `Error: outer\nCaused by: ${cause.stack}`;
      throw error;
    }),
  );
  await deliver(receiver, bodyOf());
  const [line] = await logs.until('run_retry');
  expect(JSON.stringify(line)).not.toContain('5551234567');
});

test.each(['not saved', 'Error', '', 'said:', '4'])(
  'no location of a failure comes from what its message was before: %j',
  async (message) => {
    const { logs, receiver } = await started({}, (r) =>
      r.on('*', () => {
        const error = new Error('he said:\n    at /srv/4\n    at /srv/+15551234567:3:4');
        // The stack is written when it is first asked for.
        expect(error.stack).toContain('5551234567');
        error.message = message;
        throw error;
      }),
    );
    await deliver(receiver, bodyOf());
    const [line] = await logs.until('run_retry');
    expect(JSON.stringify(line)).not.toContain('5551234567');
  },
);
