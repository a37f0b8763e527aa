import { type HandledOptions, handled } from '../../src/testing/handled.ts';
import type { Receiver } from './public.ts';

/** `handled`, but without its timeout of three seconds, which a busy machine may need. */
export function whenHandled(
  receiver: Pick<Receiver, 'events'>,
  traceId: string,
  options: HandledOptions = {},
): ReturnType<typeof handled> {
  return handled(receiver, traceId, { within: '10m', ...options });
}
