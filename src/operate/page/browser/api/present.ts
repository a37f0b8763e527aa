/** The present time at the receiver, because the clock of the viewer's computer may be wrong. */

/** From which difference on that clock counts as wrong, in milliseconds: less may be the time of a request. */
const tolerance = 60_000;

let offset = 0;

/** Notes the time that the receiver has just told. */
export function noteReceiverTime(now: string): void {
  const found = Date.parse(now) - Date.now();
  offset = Math.abs(found) < tolerance ? 0 : found;
}

export function presentTime(): number {
  return Date.now() + offset;
}
