// @module-tag long
import { fileURLToPath } from 'node:url';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Script } from '../support/process.ts';
import type { Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { committing } from './committing.ts';

/** Each kill hits the receivers of all databases of the process: 3 × 5 = 15 receivers are killed at work. */
const kills = 3;
const databasesOfProcess = 5;
/** A process is killed at any instant within this time after the first of its calls is answered, in milliseconds. */
const maxLife = 60;

const script = fileURLToPath(new URL('./committing-process.ts', import.meta.url));

/** Kills one process after the other over the same databases. */
async function killAgainAndAgain(databases: readonly string[]): Promise<void> {
  for (let kill = 0; kill < kills; kill += 1) {
    const process = new Script(script, JSON.stringify(databases));
    await process.line('answered');
    await setTimeout(Math.random() * maxLife);
    await process.kill();
  }
}

interface Tally {
  readonly events: number;
  readonly calls: number;
  readonly effects: number;
  readonly differentEffects: number;
  readonly orders: number;
  readonly differentOrders: number;
}

function tallyOf({ database }: Receiver): Tally {
  return database
    .prepare(
      `select (select count(*) from events) as events,
         (select count(*) from (select 1 from events group by call_id having count(distinct event_name) = 2)) as calls,
         (select count(*) from effects) as effects, (select count(distinct trace_id) from effects) as differentEffects,
         (select count(*) from orders) as orders, (select count(distinct call_id) from orders) as differentOrders`,
    )
    .get() as Tally;
}

/** How many times events were taken over from a process that died while working on them. */
function takeoversIn({ database }: Receiver): number {
  const row = database.prepare('select coalesce(sum(count), 0) as count from crash_counts').get();
  return (row as { count: number }).count;
}

test('kill -9 at any instant: what ctx.commit writes, of a handler and of a join, is there exactly once', async () => {
  const databases = Array.from({ length: databasesOfProcess }, temporaryDatabase);
  await killAgainAndAgain(databases);

  let takeovers = 0;
  for (const database of databases) {
    const { receiver } = await started({ database, logger: { level: 'silent' } }, committing);
    const isUnfinished = ({ events, calls, differentEffects, differentOrders }: Tally) =>
      differentEffects < events || differentOrders < calls;
    await expect.poll(() => isUnfinished(tallyOf(receiver))).toBe(false);
    const { events, calls, ...written } = tallyOf(receiver);
    expect(written).toEqual({
      effects: events,
      differentEffects: events,
      orders: calls,
      differentOrders: calls,
    });
    takeovers += takeoversIn(receiver);
    await receiver.stop();
  }
  // Without a takeover, no process was killed while it worked on an event, and this test would show nothing.
  expect(takeovers).toBeGreaterThan(0);
});
