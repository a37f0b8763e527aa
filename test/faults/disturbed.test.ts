import { join } from 'node:path';
import { expect, test } from 'vitest';
import { needPrograms } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { runCampaign } from './campaign/campaign.ts';
import { judged } from './campaign/verdict.ts';

test(
  'some 200 calls with disturbed deliveries, through faults: nothing lost, doubled, forged or out of order',
  { tags: 'long' },
  async () => {
    needPrograms();
    const folder = temporaryFolder();
    const historyFile = join(folder, 'history.jsonl');
    await runCampaign({
      seed: 1,
      folder,
      historyFile,
      faults: [
        'kill -9',
        'connections cut',
        'answers to COMMIT cut',
        'clock set',
        'backends terminated',
        'kill -9',
      ],
      duration: undefined,
      maxPause: 5_000,
      suspension: [0, 0],
      load: { calls: 20, maxPause: 1_000 },
      isDisturbed: true,
      drain: 400_000,
    });
    const { violations, answers, acknowledged } = await judged(historyFile);
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
