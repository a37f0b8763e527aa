/** Ingests documents of mixed kinds, with or without kills of the sandbox, and checks the results. */
import Database from 'better-sqlite3';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { seededRandom, wholeNumber } from '../../src/sandbox/calls/seeded-random.ts';
import { type Kill, KilledRun } from '../../test/sandbox/knowledge/killed-run.ts';
import { fateProblems, fileProblems, searchProblems } from '../../test/sandbox/knowledge/settled-checks.ts';
import { KnowledgeBaseClient } from '../../test/sandbox/knowledge/knowledge-base-client.ts';
import { answerPages, oneChunkEach } from '../../test/sandbox/knowledge/mixed-documents.ts';
import { freePort } from '../../test/support/free-port.ts';
import { inFolder } from '../processes.ts';
import { median, progress } from '../report.ts';
import { sandboxOn } from './sandbox-command.ts';

/** How many documents may wait. */
const ahead = 60;
/** How many are submitted at once right before a kill, and how many milliseconds later it may come. */
const burst = 8;
const maxDelay = 25;

/** The outcome of the documents. */
export interface Ingested {
  readonly documents: number;
  readonly completed: number;
  readonly failed: number;
  /** Submissions without an answer, and how many of them were stored anyway. */
  readonly unanswered: number;
  readonly storedUnanswered: number;
  /** Documents that were begun more than once. */
  readonly begunAgain: number;
  readonly seconds: number;
  /** The share of the time that restarting threads took, after documents had failed on the last one. */
  readonly startingShare: number;
  readonly problems: readonly string[];
}

/** @param seed The same seed kills after the same numbers of documents, with the same delays. */
export function ingested(count: number, kills: number, seed: string): Promise<Ingested> {
  return inFolder(async (folder) => {
    const site = createServer(answerPages).listen(0, '127.0.0.1');
    await once(site, 'listening');
    const file = join(folder, 'sandbox.db');
    const start = sandboxOn(file, await freePort());
    const sandbox = await start();
    const knowledgeBase = await KnowledgeBaseClient.create(sandbox, { name: 'Mixed', ...oneChunkEach });
    const { port } = site.address() as AddressInfo;
    const run = new KilledRun(
      {
        start,
        knowledgeBase,
        site: `http://127.0.0.1:${port}`,
        count,
        ahead,
        kills: killsAt(count, kills, seed),
        until: eventually,
      },
      sandbox,
    );
    const startedAt = performance.now();
    await run.run();
    const seconds = (performance.now() - startedAt) / 1_000;
    const found = await checked(run);
    await run.sandbox.stop();
    site.close();
    site.closeAllConnections();
    return { ...found, seconds, ...fromFile(file), problems: [...found.problems, ...fileProblems(file)] };
  });
}

function killsAt(count: number, kills: number, seed: string): readonly Kill[] {
  const random = seededRandom(seed);
  return Array.from({ length: kills }, () => wholeNumber(random, 1, count - ahead))
    .sort((left, right) => left - right)
    .map((afterSettled, index) => ({
      afterSettled,
      burst,
      moment: async () => {
        const delay = random() * maxDelay;
        progress(`kill ${index + 1}, after ${afterSettled} documents and ${delay.toFixed(1)} ms`);
        await pause(delay);
      },
    }));
}

async function checked(run: KilledRun) {
  const { client, submitted, answered } = run;
  const documents = await client.documents();
  progress(`${documents.length} documents are settled; each is searched for`);
  return {
    documents: documents.length,
    completed: documents.filter(({ status }) => status === 'completed').length,
    failed: documents.filter(({ status }) => status === 'failed').length,
    unanswered: run.unanswered,
    storedUnanswered: documents.length - answered.size,
    problems: [
      ...run.problems,
      ...fateProblems(documents, submitted),
      ...(await searchProblems(client, documents, submitted)),
    ],
  };
}

interface Settled {
  readonly at: number;
  readonly code: string | null;
}

/** What only the database shows: how often documents were begun, and when each was settled. */
function fromFile(file: string): { readonly begunAgain: number; readonly startingShare: number } {
  const database = new Database(file, { readonly: true });
  const begunAgain = database
    .prepare<[], number>('select count(*) from documents where attempts > 1')
    .pluck()
    .get();
  const settled = database
    .prepare<[], Settled>(
      `select updated_at as at, problem ->> 'code' as code from documents
       where problem is null or problem ->> 'code' not in ('unsupported_type', 'refused', 'redirected_away')
       order by updated_at, position`,
    )
    .all();
  database.close();
  return { begunAgain: begunAgain ?? 0, startingShare: startingShareOf(settled) };
}

/** The thread has one document at a time: the one after a failed document takes longer by the start of a thread. */
function startingShareOf(settled: readonly Settled[]): number {
  const gaps = settled.slice(1).map(({ at }, index) => {
    const before = settled[index];
    return { time: at - (before?.at ?? at), withStart: before?.code !== null };
  });
  const usual = median(gaps.filter(({ withStart }) => !withStart).map(({ time }) => time));
  const all = gaps.reduce((sum, { time }) => sum + time, 0);
  const starting = gaps.reduce((sum, gap) => sum + (gap.withStart ? Math.max(0, gap.time - usual) : 0), 0);
  return starting / all;
}

async function eventually(isReached: () => Promise<boolean>): Promise<void> {
  while (!(await isReached())) await pause(5);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}
