/** Chance as an input: a number from 0 up to, not including, 1. `Math.random` is the default. */
export type Random = () => number;
