// @module-tag long
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Running, folder } from '../../cli/command.ts';
import { freePort } from '../../support/free-port.ts';
import { listening } from '../../support/servers.ts';
import { fileProblems, fateProblems, searchProblems } from './settled-checks.ts';
import { KnowledgeBaseClient } from './knowledge-base-client.ts';
import { type Kill, KilledRun } from './killed-run.ts';
import { answerPages, oneChunkEach } from './mixed-documents.ts';

const count = 24;

/** The first of the submissions that are in flight was answered; others may be before, in or after their transaction. */
const oncePartlyAnswered: Kill['moment'] = (burst) => Promise.race(burst);

/** Starts the sandbox on one file and one port as often as it is asked to. */
async function restartable(database: string) {
  const args = ['sandbox', '--port', String(await freePort()), '--database', database];
  let apiKey = '';
  return async () => {
    const running = new Running(args);
    const reported = await running.logged('listening');
    // It is shown only by the first one.
    if (typeof reported['apiKey'] === 'string') apiKey = reported['apiKey'];
    const end = (signal: NodeJS.Signals) => {
      running.child.kill(signal);
      return running.ended();
    };
    return { url: String(reported['url']), apiKey, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
  };
}

test('every document that was accepted is completed or failed once, though the sandbox is killed twice', async () => {
  const database = join(folder(), 'sandbox.db');
  const start = await restartable(database);
  const sandbox = await start();
  const run = new KilledRun(
    {
      start,
      knowledgeBase: await KnowledgeBaseClient.create(sandbox, { name: 'Handbook', ...oneChunkEach }),
      site: `http://127.0.0.1:${await listening(answerPages)}`,
      count,
      ahead: count,
      kills: [4, 15].map((afterSettled) => ({ afterSettled, burst: 3, moment: oncePartlyAnswered })),
      until: (isReached) => expect.poll(isReached, { interval: 10 }).toBe(true),
    },
    sandbox,
  );
  await run.run();

  const documents = await run.client.documents();
  expect(run.problems).toEqual([]);
  expect(documents.length).toBeGreaterThanOrEqual(run.answered.size);
  expect(fateProblems(documents, run.submitted)).toEqual([]);
  expect(await searchProblems(run.client, documents, run.submitted)).toEqual([]);
  await run.sandbox.stop();
  expect(fileProblems(database)).toEqual([]);
});
