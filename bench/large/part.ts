import type { Target } from '../targets.ts';

/** The results of one part of the measurement. */
export interface Part {
  readonly targets: readonly Target[];
  readonly lines: readonly string[];
}
