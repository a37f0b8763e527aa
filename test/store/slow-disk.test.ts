/** What waits for a disk whose syncs don't end, tested below the receiver: no disk here is that slow. */
import { expect, test } from 'vitest';
import type { QuarantineRecord } from '../../src/store/quarantine-store.ts';
import { SqliteQuarantine } from '../../src/store/sqlite/sqlite-quarantine.ts';
import { ManualClock, turn } from '../support/clock.ts';

/** A quarantine whose writes end when the test says so. */
function slowQuarantine() {
  const ends: (() => void)[] = [];
  const write = () => new Promise<never>((resolve) => ends.push(() => resolve({ dropped: 0 } as never)));
  const clock = new ManualClock();
  const reading = () => Promise.reject(new Error('nothing is read here'));
  const quarantine = new SqliteQuarantine({ read: reading, outside: reading, write }, clock);
  return { quarantine, clock, end: () => ends.shift()?.() };
}

function unreadable(body: Uint8Array): QuarantineRecord {
  const text = { kind: 'unreadable', reason: 'not_json', digest: 'd' } as const;
  return { ...text, skipped: 0, receivedAt: 0, headers: {}, body };
}

const small = unreadable(Buffer.from('no JSON'));

test('an unreadable delivery waits for the disk no longer than its sender does', async () => {
  const { quarantine, clock } = slowQuarantine();
  const kept = quarantine.keep(small);
  clock.advance(700);
  clock.advance(50);
  await expect(kept).rejects.toThrow('the disk did not take it in time');
});

test('one that the disk takes in time is kept', async () => {
  const { quarantine, clock, end } = slowQuarantine();
  const kept = quarantine.keep(small);
  clock.advance(699);
  await turn();
  end();
  await expect(kept).resolves.toEqual({ dropped: 0 });
});

test('one whose result is here when its time is over is kept: the event loop was slow, and not the disk', async () => {
  const { quarantine, clock, end } = slowQuarantine();
  const kept = quarantine.keep(small);
  clock.advance(700);
  await turn();
  end();
  await expect(kept).resolves.toEqual({ dropped: 0 });
});

const full = [
  { what: 'deliveries', most: 1_024, record: small },
  { what: 'bytes', most: 16, record: unreadable(Buffer.alloc(1024 * 1024)) },
];

test.each(full)('no more than so many $what wait for it, given up or not', async ({ most, record }) => {
  const { quarantine, clock, end } = slowQuarantine();
  const waiting = Array.from({ length: most }, () => quarantine.keep(record));
  clock.advance(700);
  clock.advance(50);
  await Promise.allSettled(waiting);
  await expect(quarantine.keep(record)).rejects.toThrow('the database has fallen behind');
  end();
  await turn();
  const next = quarantine.keep(record);
  for (let count = 0; count < most; count += 1) end();
  await expect(next).resolves.toEqual({ dropped: 0 });
});
