/**
 * Makes faults for some minutes, and judges what came of it; or judges a history again.
 *
 *     npm run faults -- --minutes 30 --seed 1
 *     npm run faults -- --minutes 2 --only 'failover,kill -9'
 *     npm run faults -- --minutes 2 --disturbed
 *     npm run faults -- --judge history.jsonl
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import { allFaults } from './faults.ts';
import { judged } from './verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    disturbed: { type: 'boolean', default: false },
    history: { type: 'string' },
    judge: { type: 'string' },
  },
});

async function campaign(): Promise<string> {
  const seed = Number(values.seed);
  const folder = mkdtempSync(join(tmpdir(), 'ringback-faults-'));
  const historyFile = resolve(values.history ?? join(folder, 'history.jsonl'));
  process.stderr.write(`The history is written to ${historyFile}, what the receivers print to ${folder}.\n`);
  await runCampaign({
    seed,
    folder,
    historyFile,
    faults: allFaults.filter((fault) => values.only?.split(',').includes(fault) ?? true),
    duration: Number(values.minutes) * 60_000,
    maxPause: 3_000,
    suspension: [15_000, 60_000],
    load: { calls: 12, maxPause: 400 },
    isDisturbed: values.disturbed,
    drain: 300_000,
  });
  return historyFile;
}

const verdict = await judged(values.judge ?? (await campaign()));
process.stdout.write(`${JSON.stringify(verdict, undefined, 2)}\n`);
if (Object.keys(verdict.violations).length > 0) process.exitCode = 1;
