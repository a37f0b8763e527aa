/** When the commit thread may say that what the main thread has written is on disk, tested below the receiver. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import {
  type FromCommitThread,
  type ToCommitThread,
  packed,
} from '../../../src/store/sqlite/writer/commit-message.ts';
import { Committer } from '../../../src/store/sqlite/writer/committer.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { ClaimedEvent } from '../../../src/store/claims.ts';
import { ManualClock } from '../../support/clock.ts';
import { filesOf } from './opened-files.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { done, settlementOf } from '../parts.ts';

/** Counts how often a log is synced by itself, and not by a commit. */
function countedSyncs(): () => number {
  const { fdatasyncSync } = fs;
  let count = 0;
  fs.fdatasyncSync = (file) => {
    count += 1;
    fdatasyncSync(file);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.fdatasyncSync = fdatasyncSync;
    syncBuiltinESMExports();
  });
  return () => count;
}

/** The work of the commit thread in the test's own thread; returns what it says to some messages that come together. */
async function committer(): Promise<(...messages: readonly ToCommitThread[]) => Promise<FromCommitThread[]>> {
  const file = temporaryDatabase();
  const store = new SqliteStore(file, new ManualClock());
  await store.open();
  const { port1: port, port2 } = new MessageChannel();
  const turn = new Int32Array(new SharedArrayBuffer(8));
  const givenUp = new BigInt64Array(new SharedArrayBuffer(16));
  const files = filesOf(file);
  new Committer({ file, files, process: 1, identity: 'thread', turn, givenUp, port: port2 }).listen();
  const said: FromCommitThread[] = [];
  port.on('message', (message: FromCommitThread) => said.push(message));
  const isAnswered = () => said.some((message) => typeof message === 'object' && 'synced' in message);
  onTestFinished(async () => {
    port.postMessage('close');
    await new Promise((resolve) => port.once('close', resolve));
    await store.close();
  });
  return async (...messages) => {
    for (const message of messages) port.postMessage(message);
    while (!isAnswered()) await new Promise((resolve) => setImmediate(resolve));
    return said;
  };
}

const lost = settlementOf({ sequence: 99_999, callId: undefined } as ClaimedEvent, done);

test('a commit that changed nothing does not answer for what was written before it', async () => {
  const tell = await committer();
  const syncs = countedSyncs();
  const said = await tell({ sync: 1 }, packed([{ ...lost, dueAt: null }]));
  expect(said).toMatchObject(['ready', { results: [0], failures: [] }, { synced: 1 }]);
  expect(syncs()).toBe(1);
});
