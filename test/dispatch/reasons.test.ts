import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { deadLettersOf } from '../support/dead-letters.ts';
import { deliver } from '../support/deliveries.ts';
import { freePort } from '../support/free-port.ts';
import { started } from '../support/receiver.ts';

/** The reason that is kept when a handler fails like this. */
async function reasonAfter(handler: () => unknown): Promise<string | undefined> {
  const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) => r.on('*', handler));
  await deliver(receiver);
  await logs.until('run_dead');
  const [letter] = await deadLettersOf(receiver);
  expect(JSON.stringify(logs.lines)).not.toContain('private');
  return letter?.reason;
}

function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

function caused(message: string, cause: unknown): Error {
  return new Error(message, { cause });
}

/** An error that is its own cause, by way of another. */
function circle(): Error {
  const inner = new Error('inner');
  const outer = caused('outer', inner);
  inner.cause = outer;
  return outer;
}

function chainOf(length: number): Error {
  let error = new Error('e0');
  for (let index = 1; index < length; index += 1) error = caused(`e${index}`, error);
  return error;
}

const hostile = new Proxy({}, { get: throwing('get'), has: throwing('has'), ownKeys: throwing('keys') });

describe('the reason of a failed run', () => {
  test('says why fetch has failed', async () => {
    const port = await freePort();
    expect(await reasonAfter(() => fetch(`http://127.0.0.1:${port}/private`))).toBe(
      `fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  });

  test('says why each of several promises was rejected', async () => {
    const failing = () =>
      Promise.any([Promise.reject(new Error('no CRM')), Promise.reject(new Error('no disk'))]);
    expect(await reasonAfter(failing)).toBe('All promises were rejected: no CRM; no disk');
  });

  test.each<[string, unknown, string]>([
    [
      'its causes',
      caused('could not save', caused('no answer', 'too late')),
      'could not save: no answer: too late',
    ],
    [
      'a cause once, if the message ends with it',
      caused('not saved: full', new Error('full')),
      'not saved: full',
    ],
    ['the code of an error without a message', Object.assign(new Error(), { code: 'EPIPE' }), 'EPIPE'],
    ['the class of an error that says nothing else', new TypeError(), 'TypeError'],
    [
      'an error of another realm',
      runInNewContext('new Error("far", { cause: new Error("off") })'),
      'far: off',
    ],
    ['an object', { code: 42, detail: { private: 1n } }, '{"code":42,"detail":{"private":"1"}}'],
    ['an object within an object, without its stack', { error: new Error('full') }, '{"error":"full"}'],
    ['a list', ['private', { code: 42 }], '["private",{"code":42}]'],
    ['an object that has nothing to see', new Response('private'), '[object Response]'],
    ['a text', 'the private is wrong', 'the private is wrong'],
    ['each error of a circle once', circle(), 'outer: inner'],
  ])('tells %s', async (_what, thrown, reason) => {
    expect(await reasonAfter(throwing(thrown))).toBe(reason);
  });

  test.each<[string, unknown, string]>([
    ['a cause', caused('could not save', hostile), 'could not save: a value that cannot be described'],
    [
      'a getter',
      Object.defineProperty(new Error('could not save'), 'cause', { get: throwing('get') }),
      'could not save',
    ],
    ['an object', hostile, 'a value that cannot be described'],
  ])('is kept even if %s throws whatever is asked of it', async (_what, thrown, reason) => {
    expect(await reasonAfter(throwing(thrown))).toBe(reason);
  });

  test('is cut at its maximum length', { tags: 'long' }, async () => {
    const deep = await reasonAfter(throwing(chainOf(10_000)));
    expect(deep).toMatch(/^e9999: e9998: .*e9980$/);
    const errors = Array.from({ length: 10_000 }, (_, index) => new Error(`e${index}`));
    expect(await reasonAfter(throwing(new AggregateError(errors, 'all')))).toMatch(/^all: e0; e1; .*e18$/);
    const round: Record<string, unknown> = { long: 'x'.repeat(1_000_000), bytes: new Uint8Array(9) };
    round['round'] = round;
    const reason = await reasonAfter(throwing(Array.from({ length: 10_000 }, () => round)));
    expect(reason).toMatch(/^\[\{"long":"x+$/);
    expect(reason).toHaveLength(500);
  });
});
