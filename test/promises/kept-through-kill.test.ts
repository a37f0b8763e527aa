import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { concurrently } from '../support/concurrently.ts';
import { bodyOf, post } from '../support/deliveries.ts';
import { ReceiverProcess } from '../support/process.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** How often the process is killed: `KILLS=300 npx vitest run test/promises/kept-through-kill --testTimeout 3600000`. */
const rounds = Number(process.env['KILLS'] ?? 3);
const deliveriesARound = 200;

/** Promises 1, 3 and 4, with a process that is killed and a platform that sends again. */
test('killed in the middle of load, again and again: what was acknowledged is handled, its effects exactly once', async () => {
  const folder = temporaryFolder();
  const options = {
    database: join(folder, 'inbox.db'),
    file: join(folder, 'appended.txt'),
    handlers: 'effects',
  } as const;
  const acknowledged = new Set<string>();
  let unanswered: string[] = [];

  for (let round = 1; round <= rounds; round += 1) {
    const receiver = new ReceiverProcess(options);
    const url = await receiver.url();
    // From a few to half of them, so that the process dies at every stage of its work.
    const enough = 10 + ((31 * round) % 90);
    const before = acknowledged.size;
    const fresh = Array.from({ length: deliveriesARound }, (_, n) => `round-${round}-${n}`);
    // Deliveries without an answer are sent again, as the platform does; so are some that were acknowledged.
    const traceIds = [...unanswered, ...[...acknowledged].slice(-20), ...fresh];
    unanswered = [];
    let dying: Promise<void> | undefined;
    await concurrently(traceIds, 16, async (traceId) => {
      const body = bodyOf({ traceId, callId: `call-of-${traceId}` });
      if (await isAcknowledged(url, body)) acknowledged.add(traceId);
      else unanswered.push(traceId);
      if (acknowledged.size - before >= enough) dying ??= receiver.kill();
    });
    await dying;
    expect(unanswered.length, 'killed too late to have been in the middle').toBeGreaterThan(0);
  }

  const receiver = new ReceiverProcess(options);
  await receiver.url();
  const left = async () => {
    const { events, runs } = await receiver.counts();
    return { new: events.new, open: events.open, due: runs.due, running: runs.running, dead: runs.dead };
  };
  await expect.poll(left).toEqual({ new: 0, open: 0, due: 0, running: 0, dead: 0 });
  expect(await receiver.stop()).toBe(0);

  const committed = effectsIn(options.database);
  const appended = existsSync(options.file)
    ? readFileSync(options.file, 'utf8').split('\n').slice(0, -1)
    : [];
  for (const traceId of acknowledged) {
    expect(
      committed.filter((other) => other === traceId),
      traceId,
    ).toHaveLength(1);
    expect(appended, traceId).toContain(traceId);
  }
  // Events that were stored but not acknowledged are handled too, and no event has its effect through `commit` twice.
  expect(new Set(committed).size).toBe(committed.length);
  expect(new Set(appended)).toEqual(new Set(committed));
  expect(acknowledged.size).toBeGreaterThanOrEqual(10 * rounds);
});

/** Delivers a body again while the receiver refuses it. False when the receiver died without an answer. */
async function isAcknowledged(url: string, body: string): Promise<boolean> {
  for (;;) {
    const answer = await post(url, body).catch(() => undefined);
    if (answer?.status !== 503) return answer?.status === 200;
  }
}

function effectsIn(database: string): unknown[] {
  const db = new Database(database, { readonly: true });
  const effects = db.prepare('select trace_id from effects').pluck().all();
  db.close();
  return effects;
}
