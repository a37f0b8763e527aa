import { type Clock, holdProcess, pause } from '../../kit/clock.ts';

/**
 * Resolves after `ms` milliseconds of the clock, or rejects with the signal's reason if that is aborted first. The
 * process is kept from ending meanwhile, since a request that will be tried again is not over.
 */
export async function wait(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const letGo = holdProcess();
  await pause(clock, ms, signal);
  letGo();
  signal?.throwIfAborted();
}
