import { systemClock } from '../../src/kit/clock.ts';
import { recordTimeout } from '../../src/store/timeouts.ts';
import type { Clock } from './public.ts';

/**
 * The machine's time, by which a delivery waits for its write however long that takes: a busy machine may do nothing at all
 * for a second, and the delivery would be answered 503.
 */
export const patientClock: Clock = {
  ...systemClock,
  after: (ms, action) => (ms === recordTimeout ? () => {} : systemClock.after(ms, action)),
};
