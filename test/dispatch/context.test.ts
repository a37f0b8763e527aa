import { expect, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import type { RunContext } from '../support/public.ts';
import { started } from '../support/receiver.ts';

test('a context that is copied into another object keeps its logger and its signal', async () => {
  const copied = Promise.withResolvers<RunContext>();
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'copying' }, (_event, context) => copied.resolve({ ...context })),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1', callId: 'call-1' }));
  const { log, signal, attempt } = await copied.promise;
  expect([signal.aborted, attempt]).toEqual([false, 1]);
  log.info('from the copy');
  const line = logs.lines.find(({ msg }) => msg === 'from the copy');
  expect(line).toMatchObject({ traceId: 'trace-1', callId: 'call-1', handler: 'copying' });
});

test('a signal that is first asked for after the deadline has been reached is aborted', async () => {
  const signal = Promise.withResolvers<AbortSignal>();
  const deadline = Promise.withResolvers<void>();
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'late', timeout: 1, retry: { attempts: 1 } }, async (_event, context) => {
      await deadline.promise;
      signal.resolve(context.signal);
    }),
  );
  await deliver(receiver);
  await logs.until('run_dead');
  deadline.resolve();
  const { aborted, reason } = await signal.promise;
  expect([aborted, String(reason)]).toEqual([true, 'Error: deadline']);
});
