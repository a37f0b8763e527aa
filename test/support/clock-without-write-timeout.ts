import { systemClock } from '../../src/kit/clock.ts';
import { recordTimeout } from '../../src/store/timeouts.ts';
import type { Clock } from './public.ts';

const after = systemClock.after.bind(systemClock);

/**
 * The machine's time, but without the timeout of a delivery's write: a busy machine may stall for a second, and the
 * delivery would be answered 503.
 */
export const clockWithoutWriteTimeout: Clock = {
  ...systemClock,
  after: (ms, action) => (ms === recordTimeout ? () => {} : after(ms, action)),
};
