import type { BodyName } from '../load/bodies.ts';
import { type Measured, measure } from '../measure.ts';
import { progress } from '../report.ts';
import type { Results, ServerKey } from './results.ts';
import { servers } from './servers.ts';

/** Some servers under one load. */
export interface Comparison {
  readonly title: string;
  readonly among: readonly ServerKey[];
  readonly connections: number;
  readonly body: BodyName;
  readonly seconds: number;
  readonly warmUpSeconds?: number;
}

/**
 * Runs all servers one after the other in each round, so that a disturbance of the machine affects them alike, and each
 * server under all loads in a row: a virtual machine may have become half as fast within minutes.
 */
export async function runRounds(comparisons: readonly Comparison[], rounds: number): Promise<Results[]> {
  const runs = comparisons.map(({ among }) => new Map<ServerKey, Measured[]>(among.map((key) => [key, []])));
  const everybody = new Set(comparisons.flatMap(({ among }) => among));
  for (let round = 1; round <= rounds; round += 1) {
    for (const key of everybody) {
      for (const [place, { title, among, ...setting }] of comparisons.entries()) {
        if (!among.includes(key)) continue;
        const measured = await measure({ ...setting, ...servers[key] });
        progress(`${title}, round ${round}, ${servers[key].name}: ${Math.round(measured.rate)}/s`);
        runs[place]?.get(key)?.push(measured);
      }
    }
  }
  return runs;
}

/** What a server does at half of its highest rate. */
export interface AtHalf {
  /** Of each round, in deliveries a second. */
  readonly paces: readonly number[];
  readonly unwatched: Results;
  /** Also measures when handlers begin; only of (e). Matching answers with handlers creates garbage, whose collection delays both. */
  readonly watched: Results;
}

/**
 * Measures a server at half of its highest rate. Each round measures that rate first: half of a rate from minutes ago
 * may be nearly all that the machine can do now.
 */
export async function runAtHalf(
  { title, server, ...setting }: Omit<Comparison, 'among'> & { readonly server: 'e' | 'g' },
  rounds: number,
): Promise<AtHalf> {
  const paces: number[] = [];
  const runs = { unwatched: [] as Measured[], watched: [] as Measured[] };
  const connections = 128;
  for (let round = 1; round <= rounds; round += 1) {
    const { rate } = await measure({ ...setting, ...servers[server] });
    const pace = Math.round(rate / 2);
    paces.push(pace);
    progress(`${title}, round ${round}: ${pace}/s`);
    const atHalf = { ...setting, ...servers[server], connections, pace };
    runs.unwatched.push(await measure(atHalf));
    if (server === 'e') runs.watched.push(await measure({ ...atHalf, watches: true }));
  }
  return {
    paces,
    unwatched: new Map([[server, runs.unwatched]]),
    watched: new Map([[server, runs.watched]]),
  };
}
