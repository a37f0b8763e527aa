import type { Target } from '../targets.ts';

/** What one part of the measurement tells. */
export interface Part {
  readonly targets: readonly Target[];
  readonly lines: readonly string[];
}
