import { type Clock, holdProcess } from '../../kit/clock.ts';

/**
 * Resolves after `ms` milliseconds of the clock, or rejects with the signal's reason if that is aborted first. The
 * process is kept from ending meanwhile, since a request that will be tried again is not over.
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
