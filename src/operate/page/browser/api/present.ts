/** The present time at the receiver, because the clock of the viewer's computer may be wrong. */

/**
 * From which difference on that clock counts as wrong, in milliseconds: clocks that are kept right differ by less. By
 * one that is fast, a minute would count as over before it is, and a plot would end at zero.
 */
const tolerance = 2_000;

let offset = 0;

/** Notes the time that the receiver has told in its answer to a request that was sent at `asked`. */
export function noteReceiverTime(now: string, asked: number): void {
  const [told, answered] = [Date.parse(now), Date.now()];
  // A computer that slept in between has a clock that is right.
  const isRight = told > asked - tolerance && told < answered + tolerance;
  offset = isRight ? 0 : told - answered;
}

export function presentTime(): number {
  return Date.now() + offset;
}
