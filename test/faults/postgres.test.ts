import { join } from 'node:path';
import { expect, test } from 'vitest';
import { needPrograms } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { type CampaignOptions, runCampaign } from './campaign/campaign.ts';
import { allFaults } from './campaign/faults.ts';
import { judged } from './campaign/verdict.ts';

type Run = Pick<CampaignOptions, 'faults' | 'maxPause' | 'suspension' | 'load' | 'isDisturbed'>;

/** Runs a campaign until each of its faults was made once, and judges it. */
async function judgedRun(run: Run) {
  needPrograms();
  const folder = temporaryFolder();
  const historyFile = join(folder, 'history.jsonl');
  await runCampaign({ seed: 1, folder, historyFile, duration: undefined, drain: 200_000, ...run });
  return judged(historyFile);
}

test('three receivers on one Postgres, through each kind of fault: nothing lost, doubled or out of order', async () => {
  const { violations, faults, acknowledged, sent } = await judgedRun({
    faults: allFaults,
    maxPause: 1_000,
    suspension: [10_000, 12_000],
    load: { calls: 4, maxPause: 100 },
    isDisturbed: false,
  });
  expect(violations).toEqual({});
  expect(Object.keys(faults).toSorted()).toEqual([...allFaults].toSorted());
  expect(acknowledged).toBe(sent);
  expect(sent).toBeGreaterThan(0);
});

test(
  'some 200 calls with disturbed deliveries, through faults: nothing lost, doubled, forged or out of order',
  { tags: 'long' },
  async () => {
    const { violations, answers, acknowledged } = await judgedRun({
      faults: [
        'kill -9',
        'connections cut',
        'answers to COMMIT cut',
        'clock set',
        'backends terminated',
        'kill -9',
      ],
      maxPause: 5_000,
      suspension: [0, 0],
      load: { calls: 20, maxPause: 1_000 },
      isDisturbed: true,
    });
    expect(violations).toEqual({});
    expect(acknowledged).toBeGreaterThan(0);
    // Without these, it would show nothing.
    expect(answers).toMatchObject({
      'tampered: 401': expect.any(Number),
      'wrong_secret: 401': expect.any(Number),
    });
    const disturbances = ['delayed', 'dropped', 'duplicated', 'rubbish', 'tampered', 'wrong_secret'];
    const seen = Object.keys(answers).flatMap((answer) => answer.match(/^[a-z_]+(?=:)/)?.[0] ?? []);
    expect([...new Set(seen)].toSorted()).toEqual(disturbances);
  },
);
