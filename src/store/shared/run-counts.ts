/** A run that a replay or a dismissal has changed. */
export interface ChangedRun {
  readonly sequence: number;
  readonly handler: string;
}

/** How many runs were changed, of how many events, and how many of each handler. */
export interface RunCounts {
  readonly events: number;
  readonly runs: number;
  readonly handlers: Readonly<Record<string, number>>;
}

export const noRuns: RunCounts = { events: 0, runs: 0, handlers: {} };

/** Adds the runs of a step. No event is in two steps. */
export function addRuns({ events, runs, handlers }: RunCounts, step: readonly ChangedRun[]): RunCounts {
  const sums = new Map(Object.entries(handlers));
  for (const { handler } of step) sums.set(handler, (sums.get(handler) ?? 0) + 1);
  return {
    events: events + new Set(step.map(({ sequence }) => sequence)).size,
    runs: runs + step.length,
    handlers: Object.fromEntries(sums),
  };
}
