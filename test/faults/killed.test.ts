// @module-tag long
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { concurrently } from '../support/concurrently.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, deliverAll } from '../support/deliveries.ts';
import { Script } from '../support/process.ts';
import type { Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const script = fileURLToPath(new URL('./removing-process.ts', import.meta.url));

/** Inconsistencies that an inbox must never have, whenever its process was killed. */
const broken = {
  'an event that its identity has lost': `
    select sequence from events where sequence not in (select sequence from identities where sequence is not null)`,
  'an identity of an event that is gone': `
    select identity from identities where sequence is not null and sequence not in (select sequence from events)`,
  'an identity that is neither of an event nor a tombstone': `
    select identity from identities where (sequence is null) = (expires_at is null)`,
  'a run of an event that is gone':
    'select handler from runs where sequence not in (select sequence from events)',
  'an event without its bytes':
    'select sequence from events where sequence not in (select sequence from bodies)',
  'bytes of an event that is gone':
    'select sequence from bodies where sequence not in (select sequence from events)',
  'an event that is new and gone': `
    select sequence from (select sequence from waiting union all select sequence from claims)
    where sequence not in (select sequence from events)`,
  'an event that is claimed and waits':
    'select sequence from waiting where sequence in (select sequence from claims)',
  'a death remembered of an event that is gone':
    'select sequence from crash_counts where sequence not in (select sequence from events)',
  'events that are counted wrongly':
    'select events from event_totals where events <> (select count(*) from events)',
  'a place in the index of an event that is gone':
    'select sequence from call_events where sequence not in (select sequence from events)',
  'an event that the index has passed over': `
    select sequence from events, event_totals where call_id is not null and sequence <= indexed_sequence
      and sequence not in (select sequence from call_events)`,
  'a wait for a call that is gone':
    'select call_id from joins where call_id not in (select call_id from events)',
};

function foundBroken({ database }: Receiver): unknown {
  const rows = Object.entries(broken).map(([what, sql]) => [what, database.prepare(sql).all()] as const);
  return {
    ...Object.fromEntries(rows.filter(([, found]) => found.length > 0)),
    integrity: database.prepare('pragma integrity_check').all(),
    keys: database.prepare('pragma foreign_key_check').all(),
  };
}

for (const how of ['cleaning', 'erasing'] as const) {
  test(`a process that is killed while ${how} leaves a consistent inbox, and the next process continues`, async () => {
    const database = temporaryDatabase();
    const bodies = Array.from({ length: 500 }, (_, index) => bodyOf({ callId: `call-${index % 250}` }));
    const first = await started({ database, clock: new ManualClock() }, (r) =>
      r.onCall({ name: 'join', events: ['CallHandler.CallEnded'], within: '1h' }, () => {}),
    );
    // Some of the events get into the index of calls, and some not yet: it is filled every 2,048 sequence numbers.
    first.receiver.database.exec('update event_totals set last_sequence = 1800');
    await deliverAll(first.receiver, bodies);
    await expect.poll(async () => (await first.receiver.counts()).events.done).toBe(bodies.length);
    await first.receiver.stop();

    let left = bodies.length;
    for (const delay of [0, 7, 19]) {
      const process = new Script(script, JSON.stringify({ database, how }));
      await process.line('begun');
      await setTimeout(delay);
      await process.kill();
      const { receiver } = made({ database });
      expect(foundBroken(receiver)).toEqual({ integrity: [{ integrity_check: 'ok' }], keys: [] });
      const { count } = receiver.database.prepare('select count(*) as count from events').get() as {
        count: number;
      };
      expect(count).toBeLessThanOrEqual(left);
      left = count;
      await receiver.stop();
    }
    // Something must have been removed, or no process was killed in the middle.
    expect(left).toBeLessThan(bodies.length);
    const last = new Script(script, JSON.stringify({ database, how }));
    await last.line('finished');
    await last.exit();

    const { receiver } = await started({ database, clock: new ManualClock() });
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
    expect(foundBroken(receiver)).toEqual({ integrity: [{ integrity_check: 'ok' }], keys: [] });
    await concurrently(bodies, 50, async (body) => {
      expect((await deliver(receiver, body)).json.status).toBe('duplicate');
    });
  });
}
