import type { Measured } from '../measure.ts';
import { median } from '../report.ts';

export type ServerKey = 'a' | 'b' | 'c' | 'd' | 'e' | 'f';

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

/** The longest stall of a server in all rounds; NaN for one that can't be asked. */
export function longestStall(results: Results, server: ServerKey): number {
  const stalls = (results.get(server) ?? []).flatMap(({ stall }) => stall ?? []);
  return stalls.length === 0 ? Number.NaN : Math.max(...stalls);
}

/** Why runs of these servers are not valid, or undefined. */
export function problemsOf(results: Results, ...servers: readonly ServerKey[]): string | undefined {
  const problems = servers.flatMap((key) => (results.get(key) ?? []).flatMap(({ problem }) => problem ?? []));
  return problems.length === 0 ? undefined : problems.join('; ');
}
