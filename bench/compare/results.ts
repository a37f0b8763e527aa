import type { Measured } from '../measure.ts';
import { median } from '../report.ts';

export type ServerKey = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k';

/** The results of a comparison: the runs of each server, one per round. */
export type Results = ReadonlyMap<ServerKey, readonly Measured[]>;

/** The median of a figure over the rounds; NaN for a server that was not compared. */
export function figure(
  results: Results,
  server: ServerKey,
  key: 'rate' | 'p50' | 'p99' | 'cpu' | 'bytesPerEvent',
): number {
  return median((results.get(server) ?? []).map((measured) => measured[key] ?? Number.NaN));
}

/** A figure of one server under one load. */
export interface Side {
  readonly results: Results;
  readonly server: ServerKey;
}

/**
 * The median of one figure divided by another, round by round: a machine that becomes slower within minutes slows both
 * runs of a round, and not the medians of all rounds alike. NaN if either was not compared.
 */
export function ratio(over: Side, under: Side, key: 'rate' | 'p50'): number {
  const figures = ({ results, server }: Side) => (results.get(server) ?? []).map((run) => run[key]);
  const bases = figures(under);
  return median(figures(over).map((value, round) => value / (bases[round] ?? Number.NaN)));
}

/** The longest stall of a server in all rounds; NaN for one that can't be asked. */
export function maxStall(results: Results, server: ServerKey): number {
  const stalls = (results.get(server) ?? []).flatMap(({ stall }) => stall ?? []);
  return stalls.length === 0 ? Number.NaN : Math.max(...stalls);
}

/** Why runs of these servers are not valid, or undefined. */
export function problemsOf(results: Results, ...servers: readonly ServerKey[]): string | undefined {
  const problems = servers.flatMap((key) => (results.get(key) ?? []).flatMap(({ problem }) => problem ?? []));
  return problems.length === 0 ? undefined : problems.join('; ');
}
