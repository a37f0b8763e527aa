import { join } from 'node:path';
import { expect, test } from 'vitest';
import { needPrograms } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { runCampaign } from './campaign/campaign.ts';
import { allFaults } from './campaign/faults.ts';
import { judged } from './campaign/verdict.ts';

test('three receivers on one Postgres, through each kind of fault: nothing lost, doubled or out of order', async () => {
  needPrograms();
  const folder = temporaryFolder();
  const historyFile = join(folder, 'history.jsonl');
  await runCampaign({
    seed: 1,
    folder,
    historyFile,
    faults: allFaults,
    duration: undefined,
    maxPause: 1_000,
    suspension: [10_000, 12_000],
    load: { calls: 4, maxPause: 100 },
    isDisturbed: false,
    drain: 400_000,
  });
  const { violations, faults, acknowledged, sent } = await judged(historyFile);
  expect(violations).toEqual({});
  expect(Object.keys(faults).toSorted()).toEqual([...allFaults].toSorted());
  expect(acknowledged).toBe(sent);
  expect(sent).toBeGreaterThan(0);
});
