import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { turn } from '../support/clock.ts';
import { bodyOf, post } from '../support/deliveries.ts';
import { rowsIn } from '../support/inbox.ts';
import { type ProcessOptions, ReceiverProcess, Script } from '../support/process.ts';
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts';

/** Options for processes that share a database and a file. */
function optionsFor(handlers: ProcessOptions['handlers']): ProcessOptions {
  const folder = temporaryFolder();
  return { database: join(folder, 'inbox.db'), file: join(folder, 'handled.txt'), handlers };
}

function handledIn({ file }: ProcessOptions): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

/** Why runs are dead. */
function reasonsIn({ database }: ProcessOptions): unknown[] {
  const db = new Database(database, { readonly: true });
  const reasons = db.prepare("select reason from runs where state = 'dead'").pluck().all();
  db.close();
  return reasons;
}

describe('two processes on one database', () => {
  test('the claims of a killed process are taken over by the other', { tags: 'long' }, async () => {
    const options = optionsFor('gated');
    const [first, second] = [new ReceiverProcess(options), new ReceiverProcess(options)];
    await Promise.all([first.url(), second.url()]);
    await post(await first.url(), bodyOf({ traceId: 'held', payload: { hold: true } }));
    await first.line('begun', 'held');
    await first.kill();
    await second.line('begun', 'held');
    await second.release();
    await second.line('ended', 'held');
    await expect.poll(async () => (await second.counts()).events.done).toBe(1);
    expect(second.said('begun')).toEqual(['held']);
  });

  test(
    'one that was suspended for 15 seconds commits nothing of what the other has taken over, and goes on',
    { tags: 'long' },
    async () => {
      const options = optionsFor('committing');
      const [suspended, other] = [new ReceiverProcess(options), new ReceiverProcess(options)];
      await Promise.all([suspended.url(), other.url()]);
      await post(await suspended.url(), bodyOf({ traceId: 'held', payload: { hold: true } }));
      await suspended.line('begun', 'held');
      const isOver = pause(15_000);
      suspended.suspend();
      await other.line('begun', 'held');
      await other.release();
      await other.line('ended', 'held');
      await isOver;
      suspended.resume();
      await suspended.release();
      expect(await suspended.line('refused')).toEqual({ refused: 'commit_too_late' });
      await post(await suspended.url(), bodyOf({ traceId: 'next' }));
      await Promise.race([suspended.line('ended', 'next'), other.line('ended', 'next')]);
      await expect.poll(async () => (await suspended.counts()).events).toEqual({ new: 0, open: 0, done: 2 });
      expect(await rowsIn(options.database, 'select trace_id from effects')).toEqual([
        { trace_id: 'held' },
        { trace_id: 'next' },
      ]);
    },
  );

  test(
    "a call's events never run side by side, whichever process they came to",
    { tags: 'long' },
    async () => {
      const options = optionsFor('gated');
      const [first, second] = [new ReceiverProcess(options), new ReceiverProcess(options)];
      await Promise.all([first.url(), second.url()]);
      await post(
        await first.url(),
        bodyOf({ traceId: 'earlier', callId: 'call-1', payload: { hold: true } }),
      );
      await first.line('begun', 'earlier');
      await post(await second.url(), bodyOf({ traceId: 'later', callId: 'call-1' }));
      await post(await second.url(), bodyOf({ traceId: 'beside', callId: 'call-2' }));
      // Events are claimed in order of arrival: when `beside` has ended, `later` was passed over.
      await Promise.race([first.line('ended', 'beside'), second.line('ended', 'beside')]);
      const begun = () => [...first.said('begun'), ...second.said('begun')];
      expect(begun()).not.toContain('later');
      await first.release();
      await Promise.race([first.line('ended', 'later'), second.line('ended', 'later')]);
      expect(begun().filter((traceId) => traceId === 'later')).toHaveLength(1);
    },
  );
});

/** Resolves to true once the process has a dead letter, or to false once it has died instead. */
async function outlivesTheRun(process: ReceiverProcess): Promise<boolean> {
  const exited = new AbortController();
  void process.exit().then(() => exited.abort());
  while (!exited.signal.aborted) {
    const counts = await process.counts().catch(() => undefined);
    if (counts?.runs.dead === 1) return true;
    await turn();
  }
  return false;
}

test(
  'an event that kills the process every time ends as a dead letter, and harms no other',
  { tags: 'long' },
  async () => {
    const options = optionsFor('deadly');
    let process = new ReceiverProcess(options);
    await post(await process.url(), bodyOf({ traceId: 'harmless-before' }));
    for (const traceId of ['slow-1', 'slow-2', 'slow-3']) {
      await post(await process.url(), bodyOf({ traceId, payload: { slow: true } }));
    }
    // The process may die before it answers; the event is stored by then.
    const deadly = bodyOf({ traceId: 'deadly', payload: { deadly: true } });
    await post(await process.url(), deadly).catch(() => {});
    let deaths = 0;
    for (; deaths < 10; deaths += 1) {
      if (await outlivesTheRun(process)) break;
      process = new ReceiverProcess(options);
      await process.url().catch(() => {});
    }
    // Three attempts that were counted before they began, after one that was not, because nobody knew that it would kill.
    expect(deaths).toBe(4);
    await post(await process.url(), bodyOf({ traceId: 'harmless-after' }));
    await expect.poll(() => handledIn(options)).toContain('harmless-after');
    expect(handledIn(options)).toEqual(
      expect.arrayContaining(['harmless-before', 'slow-1', 'slow-2', 'slow-3']),
    );
    expect((await process.counts()).runs.dead).toBe(1);
    expect(handledIn(options)).not.toContain('deadly');
    expect(reasonsIn(options)).toEqual([
      'the process ended during an attempt, and no attempt is left after 3',
    ]);
  },
);

test('an idle receiver does next to nothing', { tags: 'long' }, async () => {
  const process = new ReceiverProcess(optionsFor('gated'));
  await post(await process.url(), bodyOf({ traceId: 'held', payload: { hold: true } }));
  await process.line('begun', 'held');
  const before = await process.activity();
  let after = before;
  let asked = 1;
  await expect
    .poll(
      async () => {
        asked += 1;
        after = await process.activity();
        return after.heartbeats;
      },
      { interval: 200 },
    )
    .toBeGreaterThan(before.heartbeats + 1);
  // Each heartbeat and each of our questions takes a few turns. Looking for work without a pause takes thousands a second.
  expect(after.turns - before.turns).toBeLessThan(20 * (after.heartbeats - before.heartbeats + asked));
});

test(
  'a process that waits for the inbox, or for the end of a run, does not end meanwhile',
  { tags: 'long' },
  async () => {
    const file = fileURLToPath(new URL('../support/waiting-process.ts', import.meta.url));
    const process = new Script(file, temporaryDatabase());
    await process.line('delivered');
    await process.line('stopped');
    expect(await process.exit()).toBe(0);
  },
);
