import { type Clock, holdProcess } from '../../kit/clock.ts';

/**
 * Resolves after `ms` milliseconds of the clock, and rejects with the signal's reason when that comes first. The process
 * is kept from ending meanwhile: a request that is to be tried again is not over.
 */
export async function wait(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const letGo = holdProcess();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const end = () => resolve();
  signal?.addEventListener('abort', end);
  await promise;
  signal?.removeEventListener('abort', end);
  cancel();
  letGo();
  signal?.throwIfAborted();
}
