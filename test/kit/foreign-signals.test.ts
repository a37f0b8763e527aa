import { expect, onTestFinished, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { startedSandbox } from '../sandbox/support.ts';

/** The signal as one of another realm, as a test runner with a DOM of its own has it: no instance of AbortSignal. */
function foreign(signal: AbortSignal): AbortSignal {
  return new Proxy(signal, {
    getPrototypeOf: () => EventTarget.prototype,
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const enough = new Error('enough');

test('a signal of another realm ends a request to the platform', async () => {
  const { prompts } = createPlatform({ baseUrl: 'http://127.0.0.1:9', apiKey: 'key' });
  const signal = foreign(AbortSignal.abort(enough));
  await expect(prompts.generate({ raw_prompt: 'a' }, { signal })).rejects.toBe(enough);
});

test('a signal of another realm ends a reconciliation', async () => {
  const receiver = testReceiver();
  onTestFinished(() => receiver.stop({ drain: 0 }));
  await receiver.start();
  const reader = { get: () => Promise.resolve({}) };
  const signal = foreign(AbortSignal.abort(enough));
  const options = { calls: reader, analyses: reader, ids: () => [], since: '1h', signal } as const;
  await expect(receiver.reconcile(options)).rejects.toBe(enough);
});

test('a signal of another realm ends the traffic of a sandbox', async () => {
  const sandbox = await startedSandbox();
  const signal = foreign(AbortSignal.abort());
  expect(await sandbox.calls.traffic({ callsPerMinute: 1, signal })).toBe(0);
});
