/** A receiver can be made and stopped even if somebody keeps the database locked. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, secret, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { type RunContext, createReceiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const ends: Readonly<Record<string, (context: RunContext) => unknown>> = {
  'is done': () => {},
  commits: ({ commit }) => commit(() => {}),
  fails: () => {
    throw new Error('not today');
  },
};

/** Locks the database through a connection of its own, and returns a function that unlocks it. */
function lockedBeside(database: string): () => void {
  const other = new Database(database);
  onTestFinished(() => void other.close());
  other.exec('begin immediate');
  return () => void other.exec('rollback');
}

test('a database that needs no migration is opened while another connection has it locked', async () => {
  const database = temporaryDatabase();
  const { receiver: first } = await started({ database });
  await first.stop();
  const letGo = lockedBeside(database);
  const next = createReceiver({ secrets: secret, database });
  expect(next.database.prepare('select count(*) as events from events').get()).toEqual({ events: 0 });
  letGo();
  await next.stop();
});

test.each(Object.entries(ends))(
  'with another connection that locks it, a receiver stops while a run %s, which is done again',
  { tags: 'long' },
  async (_end, end) => {
    const [clock, database, gate] = [new ManualClock(), temporaryDatabase(), new Gate()];
    const { receiver } = await started({ clock, database }, (r) =>
      r.on('*', { name: 'held' }, async (_event, context) => {
        await gate.pass();
        await end(context);
      }),
    );
    const body = bodyOf({ traceId: 'trace-1' });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await gate.reached;
    const letGo = lockedBeside(database);
    gate.open();
    await clock.runUntil(receiver.stop({ drain: 1_000 }));
    letGo();
    // The other connection still has the file open: so who left the run is only known by missed heartbeats.
    const seen: string[] = [];
    const after = await started({ clock, database }, (r) =>
      r.on('*', { name: 'held' }, ({ traceId }) => void seen.push(traceId)),
    );
    await clock.runUntil(after.logs.until('run_done'));
    expect(seen).toEqual(['trace-1']);
  },
);

/** An inbox in which the run of a second event waits for that of a first one, which has failed. */
async function withBlockedRun(): Promise<string> {
  const database = temporaryDatabase();
  const { receiver } = await started({ database }, (r) =>
    r.on('*', { name: 'held', order: 'strict', retry: { base: '1d', cap: '1d' } }, () => {
      throw new Error('not today');
    }),
  );
  for (const traceId of ['first', 'second']) await deliver(receiver, bodyOf({ traceId, callId: 'call-1' }));
  await expect.poll(async () => (await receiver.counts()).runs.blocked).toBe(1);
  await receiver.stop();
  return database;
}

test(
  'a start ends although another connection locks the inbox that it has opened, and it has runs to unblock',
  { tags: 'long' },
  async () => {
    const [clock, database] = [new ManualClock(), await withBlockedRun()];
    // Asked for when the inbox has been opened.
    const secrets = (): string => {
      lockedBeside(database);
      return secret;
    };
    const { receiver } = made({ clock, database, secrets });
    receiver.on('*', { name: 'held', order: 'none' }, () => {});
    const starting = receiver.start();
    await clock.runUntil(starting);
    await expect(starting).rejects.toMatchObject({
      code: 'database_unreadable',
      message: expect.stringContaining('another process has locked it'),
    });
  },
);

test(
  'while another connection locks it, a receiver is not ready, and is ready again without a delivery',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const { receiver } = await started({ database, clock: systemClock });
    await deliver(receiver);
    const letGo = lockedBeside(database);
    expect((await deliver(receiver)).status).toBe(503);
    expect(receiver.isReady).toBe(false);
    letGo();
    await expect.poll(() => receiver.isReady).toBe(true);
    expect((await deliver(receiver)).status).toBe(200);
  },
);
