import { describe, expect, expectTypeOf, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { ConfigError, type JoinOptions, type KnownEventName, type Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const handler = () => {};
/** The receiver as JavaScript sees it, without types. */
const untyped = (receiver: Receiver) =>
  receiver as unknown as { on: (...parameters: readonly unknown[]) => unknown };

function problemOf(action: () => unknown): ConfigError | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  return undefined;
}

const codeOf = (action: () => unknown) => problemOf(action)?.code;

describe('a wrong registration', () => {
  test('is a second handler of one name, given or by default', () => {
    const { receiver } = made();
    receiver.on('CallHandler.CallEnded', handler).on('*', { name: 'mine' }, handler);
    expect(codeOf(() => receiver.on('CallHandler.CallEnded', handler))).toBe('handler_duplicate');
    expect(codeOf(() => receiver.on('other', { name: 'mine' }, handler))).toBe('handler_duplicate');
    receiver.on('CallHandler.CallEnded', { name: 'another' }, handler);
  });

  test('is a second fallback, or a handler that has its name', () => {
    const { receiver } = made();
    receiver.fallback(handler);
    expect(codeOf(() => receiver.fallback(handler))).toBe('fallback_duplicate');
    expect(codeOf(() => receiver.on('*', { name: 'fallback' }, handler))).toBe('handler_duplicate');
  });

  test.each([
    ['is too long', 'n'.repeat(513)],
    ['is too long in bytes', '名'.repeat(171)],
    ['has half a surrogate pair', 'half \ud83d'],
    ['has U+0000', 'cut\0'],
  ])('is a name that %s to be a key of the inbox', (_, name) => {
    const { receiver } = made();
    expect(codeOf(() => receiver.on('*', { name }, handler))).toBe('option_invalid');
    const join: JoinOptions = { name, events: ['CallHandler.CallEnded'], within: '1m' };
    expect(codeOf(() => receiver.onCall(join, handler))).toBe('option_invalid');
    receiver.on('*', { name: 'n'.repeat(512) }, handler);
  });

  test('is a list of events that makes too long a name, without another', () => {
    const { receiver } = made();
    const events = Array.from({ length: 40 }, (_, index) => `Service.SomethingHappened${index}`);
    expect(problemOf(() => receiver.on(events, handler))?.message).toContain('set a shorter name');
    receiver.on(events, { name: 'all' }, handler);
  });

  test('is a handler, or a fallback, that is registered after start', async () => {
    const { receiver } = await started();
    expect(codeOf(() => receiver.on('*', handler))).toBe('handler_too_late');
    expect(codeOf(() => receiver.fallback(handler))).toBe('handler_too_late');
  });

  test.each<[string, readonly unknown[]]>([
    ['no handler', ['*']],
    ['options for a handler', ['*', {}]],
    ['no names', [[], handler]],
    ['an empty name', [['*', ''], handler]],
    ['names that are no text', [[1], handler]],
    ['no name at all', [undefined, handler]],
    ['a pattern that matches nothing', ['CallHandler.Call*', handler]],
    ['a star in front', ['*.CallEnded', handler]],
    ['two stars', [['a', 'a.*.*'], handler]],
  ])('is a handler with %s', (_, parameters) => {
    const { receiver } = made();
    expect(codeOf(() => untyped(receiver).on(...parameters))).toBe('handler_invalid');
  });

  test.each([
    [undefined, 'found names of type undefined'],
    [[], 'found an empty list of names'],
    ['', 'found an empty name'],
    [['*', 1], 'found a name of type number'],
    [Array.from({ length: 2 }), 'found a name of type undefined'],
    // oxlint-disable-next-line no-sparse-arrays
    [['*', , 'a'], 'found a name of type undefined'],
  ])('is told what the names are instead: %j', (names, sentence) => {
    const { receiver } = made();
    expect(() => untyped(receiver).on(names, handler)).toThrow(sentence);
  });

  test('is reported with the method that was called, in a stack that begins there', () => {
    const { receiver } = made();
    const join = { name: 'j', events: ['a'], within: '1m' } as const;
    const calls: [RegExp, () => unknown][] = [
      [/^on\(names, .* but found no function\.$/, () => receiver.on('*', undefined as never)],
      [/^on\(names, .* found the pattern "a\*"\. Patterns are '\*'/, () => receiver.on('a*', handler)],
      [
        /^onCall\(options, handler\) expects .* no function\.$/,
        () => receiver.onCall(join, undefined as never),
      ],
      [/^fallback\(handler\) expects a function, but .* number\.$/, () => receiver.fallback(1 as never)],
    ];
    for (const [sentence, call] of calls) {
      const problem = problemOf(call);
      expect(problem?.message).toMatch(sentence);
      expect(problem?.stack?.split('\n')[1]).toContain('registration.test.ts');
    }
  });

  test('is a second start, and a start after stop', async () => {
    const { receiver } = made();
    const starting = receiver.start();
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_started' });
    await starting;
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_started' });
    await receiver.stop();
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_stopped' });
  });
});

describe('a name that is probably misspelled', () => {
  test('is logged at start, of handlers and of joins, and no other name is', async () => {
    const { logs } = await started({}, (r) =>
      r
        .on(
          ['CallHandler.CallEnd', 'CallHandler.CallEnded', 'CallHandler.CallParked'],
          { name: 'a' },
          handler,
        )
        .on(['callhandler.*', 'CallHandler.*', 'Billing.*', '*'], { name: 'b' }, handler)
        .onCall({ name: 'c', events: ['pcaCompleted', 'Billing.Paid'], within: '1m' }, handler),
    );
    const reported = logs
      .of('event_name_unknown')
      .map((line) => [line['handler'], line['eventName'], line['meant']]);
    expect(reported).toEqual([
      ['a', 'CallHandler.CallEnd', 'CallHandler.CallEnded'],
      ['b', 'callhandler.*', 'CallHandler.*'],
      ['c', 'pcaCompleted', 'callAnalysis.pcaCompleted'],
    ]);
  });
});

describe('with strictNames, a name that is probably misspelled', () => {
  const strict = () => made({ strictNames: true }).receiver;

  test.each([
    ['CallHandler.CallEnd', 'CallHandler.CallEnded'],
    ['callEnded', 'CallHandler.CallEnded'],
    ['callhandler.*', 'CallHandler.*'],
  ])('is refused: %s', (eventName, meant) => {
    const problem = problemOf(() => strict().on(['*', eventName], { name: 'a' }, handler));
    expect(problem?.code).toBe('event_name_unknown');
    expect(problem?.message).toContain(`on expects the names of known events`);
    expect(problem?.message).toContain(`but found "${eventName}". Did you mean "${meant}"?`);
    expect(problem?.stack?.split('\n')[1]).toContain('registration.test.ts');
  });

  test('is refused in a join', () => {
    const join = { name: 'j', events: ['CallHandler.CallEnded', 'pcaCompleted'], within: '1m' } as const;
    const problem = problemOf(() => strict().onCall(join, handler));
    expect(problem?.code).toBe('event_name_unknown');
    expect(problem?.message).toContain('Did you mean "callAnalysis.pcaCompleted"?');
  });

  test('leaves nothing registered, and no other name is refused', () => {
    const receiver = strict();
    expect(codeOf(() => receiver.on('CallHandler.CallEnd', { name: 'a' }, handler))).toBe(
      'event_name_unknown',
    );
    receiver
      .on(
        ['CallHandler.CallEnded', 'Billing.Paid', 'Billing.*', 'CallHandler.CallParked'],
        { name: 'a' },
        handler,
      )
      .on(['CallHandler.*', '*'], { name: 'b' }, handler)
      .onCall({ name: 'c', events: ['CallHandler.CallEnded', 'Billing.Paid'], within: '1m' }, handler);
  });
});

describe('an event goes', () => {
  test('to every handler whose names match, and not to the fallback', async () => {
    const seen: string[] = [];
    const note = (name: string) => () => seen.push(name);
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('CallHandler.CallEnded', note('exact'))
        .on('CallHandler.*', note('service'))
        .on(['callAnalysis.pcaCompleted', 'CallHandler.CallEnded'], { name: 'list' }, note('list'))
        .on('*', note('all'))
        .on('callhandler.callended', note('wrong case'))
        .fallback(note('fallback')),
    );
    await deliver(receiver);
    await logs.until('run_done', 4);
    expect(seen.toSorted()).toEqual(['all', 'exact', 'list', 'service']);
  });

  test('to the handlers of the names that were given, although the list has changed since', async () => {
    const names = ['Billing.Paid'];
    const { receiver, logs } = await started({}, (r) => {
      r.on(names, { name: 'billing' }, handler).fallback(handler);
      names[0] = 'Billing.Cancelled';
    });
    await deliver(receiver, bodyOf({ eventName: 'Billing.Paid' }));
    expect(await logs.until('run_done')).toMatchObject([{ handler: 'billing' }]);
  });

  test('to the fallback when no handler matches, which gets whether it is known', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.fallback((event, { isKnown, attempt, log }) => {
        seen.push([event.eventName, isKnown, attempt, typeof log.info]);
      }),
    );
    await deliver(receiver, bodyOf({ eventName: 'CallHandler.CallEnded' }));
    await logs.until('run_done', 1);
    await deliver(receiver, bodyOf({ eventName: 'CallHandler.CallParked' }));
    await logs.until('run_done', 2);
    expect(seen).toEqual([
      ['CallHandler.CallEnded', true, 1, 'function'],
      ['CallHandler.CallParked', false, 1, 'function'],
    ]);
  });

  test('to the fallback with issues when it misses what its name promises, and not to typed handlers', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('*', () => seen.push('typed'))
        .fallback((event, { isKnown }) => seen.push([isKnown, event.issues.map(({ path }) => path)])),
    );
    const body = JSON.stringify({ traceId: 'trace-1', eventName: 'CallHandler.CallEnded', payload: {} });
    expect((await deliver(receiver, body)).status).toBe(200);
    await logs.until('run_done');
    expect(seen).toEqual([[true, ['payload.call_id']]]);
  });

  test.each(['CallHandler.CallEnded', 'CallHandler.*', '*'])(
    'not to %s when it misses what its name promises, even without a fallback: what it misses is said',
    async (pattern) => {
      const { receiver, logs } = await started({}, (r) => r.on(pattern, () => {}));
      await deliver(
        receiver,
        JSON.stringify({ traceId: 'trace-1', eventName: 'CallHandler.CallEnded', payload: {} }),
      );
      const issues = ['payload.call_id'];
      expect(await logs.until('event_incomplete')).toMatchObject([{ traceId: 'trace-1', issues }]);
      expect(logs.of('event_unhandled')).toEqual([]);
    },
  );

  test('only to a join when it misses what its name promises, without a fallback: what it misses is said', async () => {
    const seen: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r
        .on('CallHandler.CallTransferred', () => seen.push('typed'))
        .onCall({ name: 'join', events: ['CallHandler.CallTransferred'], within: '1h' }, ({ complete }) =>
          seen.push(complete),
        ),
    );
    await deliver(receiver, bodyOf({ traceId: 'trace-1', eventName: 'CallHandler.CallTransferred' }));
    await logs.until('run_done');
    expect(seen).toEqual([true]);
    const issues = ['payload.transfer_to'];
    expect(logs.of('event_incomplete')).toMatchObject([{ traceId: 'trace-1', issues }]);
    // A complete event that only a join takes is no problem.
    const payload = { transfer_to: '1234' };
    await deliver(
      receiver,
      bodyOf({ traceId: 'trace-2', eventName: 'CallHandler.CallTransferred', payload }),
    );
    await logs.until('run_done', 3);
    expect(logs.of('event_incomplete')).toHaveLength(1);
    expect(logs.of('event_unhandled')).toEqual([]);
  });

  test('nowhere without a match and a fallback: it is kept, marked done, and logged', async () => {
    const { receiver, logs } = await started({}, (r) => r.on('Another.Event', () => {}));
    await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
    expect(await logs.until('event_unhandled')).toMatchObject([{ traceId: 'trace-1' }]);
    await expect.poll(async () => (await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
  });
});

test('a receiver without any handler takes no event from those that have some', async () => {
  const database = temporaryDatabase();
  const looking = await started({ database }, () => {});
  expect(looking.logs.of('no_handlers')).toHaveLength(1);
  await deliver(looking.receiver, bodyOf({ traceId: 'trace-1' }));
  await looking.receiver.stop();
  const seen: string[] = [];
  const handling = await started({ database }, (r) => r.on('*', (event) => seen.push(event.traceId)));
  await handling.logs.until('run_done');
  expect(seen).toEqual(['trace-1']);
});

test('stored runs of a removed handler are logged, kept, and continued when it is back', async () => {
  const database = temporaryDatabase();
  const before = await started({ database, retry: { base: 0 } }, (r) =>
    r.on('*', { name: 'crm', order: 'none' }, () => {
      throw new Error('the CRM is down');
    }),
  );
  await deliver(before.receiver, bodyOf({ traceId: 'trace-1' }));
  await before.logs.until('run_retry');
  await before.receiver.stop();

  const without = await started({ database });
  expect(without.logs.of('handler_missing')).toMatchObject([
    {
      handler: 'crm',
      msg: expect.stringMatching(
        /register .*; if it was renamed, run them under the new name .*; or dismiss them/v,
      ) as string,
    },
  ]);
  expect((await without.receiver.counts()).runs.due).toBe(1);
  await without.receiver.stop();

  const back = await started({ database }, (r) => r.on('*', { name: 'crm' }, () => {}));
  expect(await back.logs.until('run_done')).toMatchObject([{ traceId: 'trace-1', handler: 'crm' }]);
  expect(back.logs.of('handler_missing')).toEqual([]);
});

test('the events of a join are offered by name, without patterns, and any other is taken', () => {
  type AnyName = string & Record<never, never>;
  expectTypeOf<JoinOptions['events']>().toEqualTypeOf<readonly (KnownEventName | AnyName)[]>();
  expectTypeOf<string[]>().toExtend<JoinOptions['events']>();
});
