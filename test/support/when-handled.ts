import { expect } from 'vitest';
import { type HandledOptions, handled } from '../../src/testing/handled.ts';
import type { Receiver } from './public.ts';

/** Resolves once a run of the event waits for its next attempt. */
export async function whenDue(receiver: Pick<Receiver, 'events'>, traceId: string): Promise<void> {
  const states = async () => (await receiver.events.get(traceId))?.runs.map(({ state }) => state);
  await expect.poll(states).toContain('due');
}

/** `handled`, but without its timeout of three seconds, which a busy machine may need. */
export function whenHandled(
  receiver: Pick<Receiver, 'events'>,
  traceId: string,
  options: HandledOptions = {},
): ReturnType<typeof handled> {
  return handled(receiver, traceId, { within: '10m', ...options });
}
