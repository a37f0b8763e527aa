import type { LoadOrder, LoadReport } from '../load/order.ts';
import { progress } from '../report.ts';

/** How long each pace is tried, in seconds: some twenty syncs. */
const tried = 6;
/** Deliveries a second. */
const lowest = 25;
const highest = 25_600;
/** How often the gap between a sustained pace and one that isn't is halved. */
const halvings = 4;

/** The highest even pace that a server sustains without a single refusal. */
export interface Sustainable {
  readonly pace: number;
  /** Of the run at that pace. */
  readonly report: LoadReport;
  /** Of all runs. */
  readonly acceptedIds: readonly string[];
}

/**
 * Doubles the pace until deliveries are refused, and then halves the gap. A load that waits for answers can't find this
 * pace: it only becomes slower, and is refused some too. At most fifteen paces are tried, twice each.
 */
export async function findSustainable(
  send: (order: Pick<LoadOrder, 'pace' | 'seconds' | 'max'>) => Promise<LoadReport>,
  recover: () => Promise<unknown>,
): Promise<Sustainable> {
  const acceptedIds: string[] = [];
  const borne: { readonly pace: number; readonly report: LoadReport }[] = [];
  const isBorne = async (pace: number): Promise<boolean> => {
    const report = await send({ pace, seconds: tried, max: Math.ceil(pace * tried) });
    await recover();
    const refused = report.answered - report.accepted + report.broken;
    progress(`${Math.round(pace)}/s: ${refused} refused`);
    for (const id of report.acceptedIds) acceptedIds.push(id);
    if (refused === 0) borne.push({ pace, report });
    return refused === 0;
  };
  // A chance refusal at a low pace would end the search there.
  const bears = async (pace: number): Promise<boolean> => (await isBorne(pace)) || (await isBorne(pace));

  // A warm-up: the first deliveries of a cold server may be refused, which would end the search at once.
  await isBorne(lowest);
  borne.length = 0;
  let refusedAt = lowest;
  while (refusedAt <= highest && (await bears(refusedAt))) refusedAt *= 2;
  for (let halving = 0; halving < halvings; halving += 1) {
    const middle = ((borne.at(-1)?.pace ?? 0) + refusedAt) / 2;
    if (!(await bears(middle))) refusedAt = middle;
  }
  const best = borne.at(-1);
  if (!best) throw new Error('The server refuses deliveries at every pace');
  return { ...best, acceptedIds };
}
