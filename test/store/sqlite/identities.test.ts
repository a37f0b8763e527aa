import * as fc from 'fast-check';
import { identityKey } from '../../../src/store/event-record.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/store/sqlite/connection/connection.ts';
import { addTo, bitsOf, EraFilters, newFilter } from '../../../src/store/sqlite/dedupe/era-filters.ts';
import { EarlierIdentities } from '../../../src/store/sqlite/dedupe/eras.ts';
import { prepareQuarantine } from '../../../src/store/sqlite/admin/quarantine.ts';
import { eventRow, prepareRecord } from '../../../src/store/sqlite/work/record.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { era, goTo, recordAll, totalsOf } from './call-places.ts';
import { duplicatesOf, seenOf } from '../conformance/duplicates.ts';
import { eventOf, presentTime, record } from '../parts.ts';

/** An open store on a file. The writer thread makes the filters; a store in memory has no writer thread. */
async function openedOn(file: string): Promise<SqliteStore> {
  const store = new SqliteStore(file, new ManualClock(presentTime));
  await store.open();
  onTestFinished(() => store.close());
  return store;
}

const filteredEras = (store: SqliteStore) =>
  store.database
    .prepare('select era from identity_filters order by era')
    .all()
    .map((row) => (row as { era: number }).era);

const erasOf = (store: SqliteStore, traceId: string) =>
  store.database
    .prepare('select era from identities where identity = ?')
    .all(identityKey(`body:${traceId}`))
    .map((row) => (row as { era: number }).era);

/** Records two events in each of the first eras; each era that is over gets its filter on the way. */
async function recordInEras(store: SqliteStore, eras: number): Promise<string[]> {
  const traceIds = Array.from({ length: eras }, (_, index) => `in-era-${index}`);
  for (const [index, traceId] of traceIds.entries()) {
    goTo(store, index * era + 10);
    expect(await record(store, eventOf(traceId))).toBe('new');
    // The previous era ends with the commit of the event above; its filter is made with this event.
    expect(await record(store, eventOf(`after-${traceId}`))).toBe('new');
  }
  return traceIds;
}

async function expectDuplicates(store: SqliteStore, traceIds: readonly string[]): Promise<void> {
  for (const traceId of traceIds) expect(await record(store, eventOf(traceId)), traceId).toBe('duplicate');
}

describe('a copy of an event of an earlier era', () => {
  test.each([
    ['in a file', () => temporaryDatabase()],
    ['in memory', () => ':memory:'],
  ])('is a duplicate %s', async (_, file) => {
    const store = await openedOn(file());
    const traceIds = await recordInEras(store, 70);
    await expectDuplicates(store, traceIds);
    expect(await record(store, eventOf('another'))).toBe('new');
    await store.events.addDuplicates(traceIds.map((traceId) => seenOf(eventOf(traceId), 5_000)));
    for (const traceId of traceIds) expect(await duplicatesOf(store, traceId)).toMatchObject({ count: 1 });
  });

  test('is one after a restart, and for another process, whose filters these are', async () => {
    const file = temporaryDatabase();
    const first = await openedOn(file);
    const traceIds = await recordInEras(first, 4);
    expect(filteredEras(first)).toEqual([0, 1, 2]);
    await expectDuplicates(await openedOn(file), traceIds);
    await first.close();
    await expectDuplicates(await openedOn(file), traceIds);
  });

  test('is one for a process that was there before it', async () => {
    const file = temporaryDatabase();
    const watching = await openedOn(file);
    expect(await record(watching, eventOf('first'))).toBe('new');
    const traceIds = await recordInEras(await openedOn(file), 4);
    await expectDuplicates(watching, ['first', ...traceIds]);
  });

  test('is found by its trace id, whichever era it is of', async () => {
    const store = await openedOn(temporaryDatabase());
    const traceIds = await recordInEras(store, 3);
    for (const traceId of traceIds) expect(await store.events.get(traceId)).toMatchObject({ traceId });
    expect(await store.events.get('another')).toBeUndefined();
  });
});

describe('the filter of an era', () => {
  test('has all of them, however many come in one era', { tags: 'long' }, async () => {
    const file = temporaryDatabase();
    const store = await openedOn(file);
    const traceIds = Array.from({ length: 3_000 }, (_, index) => `trace-${index}`);
    await recordAll(
      store,
      traceIds.map((traceId) => eventOf(traceId)),
    );
    goTo(store, era);
    // The era ends with the commit of this event: those that come with it add nothing to the filter.
    await record(store, eventOf('first-of-the-next-era'));
    await record(store, eventOf('second-of-the-next-era'));
    expect(filteredEras(store)).toEqual([0]);
    const results = await Promise.all(traceIds.map((traceId) => record(store, eventOf(traceId))));
    expect(new Set(results)).toEqual(new Set(['duplicate']));
    await store.close();
    const reopened = await openedOn(file);
    const again = await Promise.all(traceIds.map((traceId) => record(reopened, eventOf(traceId))));
    expect(new Set(again)).toEqual(new Set(['duplicate']));
  });

  test('goes with the last of its identities, and an event of it is new again', async () => {
    const store = await openedOn(temporaryDatabase());
    await recordInEras(store, 3);
    await store.retention.eraseEvents([era + 10, era + 11], presentTime);
    await expectDuplicates(store, ['in-era-1']);
    const limits = { doneBefore: 0, deadBefore: 0, quarantineBefore: 0, traceIdsUntil: 0 };
    expect(await store.retention.clean({ ...limits, now: presentTime }, undefined)).toMatchObject({
      traceIds: 2,
    });
    goTo(store, 3 * era + 1);
    await record(store, eventOf('next'));
    await record(store, eventOf('last'));
    expect(filteredEras(store)).toEqual([0, 2]);
    await expectDuplicates(store, ['in-era-0', 'in-era-2']);
    expect(await record(store, eventOf('in-era-1'))).toBe('new');
    expect(erasOf(store, 'in-era-1')).toEqual([3]);
  });
});

/** Writes as the writer thread does, in transactions whose end the test decides. */
async function writerWithFilters() {
  const file = temporaryDatabase();
  const store = await openedOn(file);
  const database = connect(file);
  onTestFinished(() => void database.close());
  const holder = { id: 1, ensureEntered: () => {} };
  const prepare = () => prepareRecord(database, holder, new EarlierIdentities(database));
  let recordRows = prepare();
  const written = (end: 'commit' | 'rollback', ...traceIds: readonly string[]) => {
    database.exec('begin immediate');
    const results = recordRows(traceIds.map((traceId) => eventRow(eventOf(traceId), false)));
    database.exec(end);
    return results.map(({ sequence }) => sequence);
  };
  /** Releases a delivery from quarantine in the transaction in which these events are written, and takes all back. */
  const takeBackWithRelease = (...traceIds: readonly string[]) => {
    const insert = database.prepare(`insert into quarantine (kind, reason, digest, received_at, headers, body)
      values ('unreadable', '', '', 0, '{}', '')`);
    const id = Number(insert.run().lastInsertRowid);
    database.exec('begin immediate');
    recordRows(traceIds.map((traceId) => eventRow(eventOf(traceId), false)));
    prepareQuarantine(database, recordRows).release(id, eventOf('released'));
    database.exec('rollback');
  };
  return {
    store,
    takeBackWithRelease,
    write: (...traceIds: readonly string[]) => written('commit', ...traceIds),
    takeBack: (...traceIds: readonly string[]) => written('rollback', ...traceIds),
    restart: () => {
      recordRows = prepare();
    },
  };
}

describe('when a transaction is taken back', () => {
  test('the filter of an era that ended in it does not count', async () => {
    const { store, write, takeBack } = await writerWithFilters();
    goTo(store, era - 1);
    takeBack('taken-back', 'of-the-next-era');
    expect(write('one')).toEqual([era - 1]);
    expect(write('two', 'three')).toEqual([era, era + 1]);
    expect(write('one', 'taken-back')).toEqual([undefined, era + 2]);
  });

  test('nor does it if a delivery was released from quarantine in it', async () => {
    const { store, write, takeBackWithRelease } = await writerWithFilters();
    goTo(store, era - 1);
    takeBackWithRelease('taken-back', 'of-the-next-era');
    expect(write('one')).toEqual([era - 1]);
    expect(write('two', 'three')).toEqual([era, era + 1]);
    expect(write('one')).toEqual([undefined]);
  });

  test('an era that was begun in it is asked for what comes after', async () => {
    const { store, write, takeBack } = await writerWithFilters();
    write('copied');
    goTo(store, 2 * era - 1);
    expect(takeBack('copied', 'first', 'of-the-next-era')).toEqual([undefined, 2 * era - 1, 2 * era]);
    expect(write('one')).toEqual([2 * era - 1]);
    expect(write('two')).toEqual([2 * era]);
    expect(write('one', 'copied')).toEqual([undefined, undefined]);
  });

  test('a filter that was done in it still says what is there, and is made again after a restart', async () => {
    const { store, write, takeBack, restart } = await writerWithFilters();
    write('one');
    goTo(store, era);
    write('two');
    takeBack('three');
    expect(filteredEras(store)).toEqual([]);
    expect(write('one', 'three')).toEqual([undefined, era + 1]);
    restart();
    expect(write('one', 'three')).toEqual([undefined, undefined]);
    expect(filteredEras(store)).toEqual([0]);
    expect(write('one', 'three')).toEqual([undefined, undefined]);
  });
});

test('a filter that is not whole is not asked, and is made again', async () => {
  const { store, write, restart } = await writerWithFilters();
  write('one');
  goTo(store, era);
  write('two');
  write('three');
  store.database.prepare('update identity_filters set bits = zeroblob(100)').run();
  restart();
  expect(write('one')).toEqual([undefined]);
  restart();
  expect(write('one')).toEqual([undefined]);
  const lengths = store.database.prepare('select length(bits) as bytes from identity_filters').all();
  expect(lengths).toEqual([{ bytes: newFilter().length }]);
});

test('the filters of many eras are distinct, and the place of a removed one has nothing of it', () => {
  const keyOf = (number: number) => bitsOf(identityKey(`key-${number}`));
  const filters = new EraFilters();
  const eras = Array.from({ length: 35 }, (_, index) => index);
  for (const each of eras) {
    const filter = newFilter();
    addTo(filter, keyOf(each));
    if (each === 3 || each === 34) addTo(filter, keyOf(200));
    filters.add(each, filter);
  }
  const found = () => eras.map((each) => filters.mayHave(keyOf(each)));
  expect(found()).toEqual(eras.map((each) => [each]));
  expect(filters.mayHave(keyOf(200))).toEqual([3, 34]);
  for (const gone of [0, 31, 32, 33, 34]) filters.remove(gone);
  for (const added of [100, 101]) filters.add(added, newFilter());
  expect(filters.eras.toSorted((a, b) => a - b)).toEqual([...eras.slice(1, 31), 100, 101]);
  expect(found()).toEqual(eras.map((each) => (each >= 1 && each <= 30 ? [each] : [])));
});

test(
  'whatever comes and goes, and whoever writes it, only what is kept is a duplicate',
  { tags: 'long' },
  async () => {
    const traceId = fc.nat(9).map((id) => `trace-${id}`);
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('record' as const), traceId, by: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), traceId, by: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), by: fc.nat(1) }) },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('skip' as const),
          count: fc.constantFrom(1, era - 2, era, 2 * era),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const file = temporaryDatabase();
        const open = async () => {
          const store = new SqliteStore(file, new ManualClock(presentTime));
          await store.open();
          return store;
        };
        const stores = [await open(), await open()] as [SqliteStore, SqliteStore];
        const kept = new Map<string, number>();
        const forgotten = {
          doneBefore: 0,
          deadBefore: 0,
          quarantineBefore: 0,
          now: presentTime,
          traceIdsUntil: 0,
        };
        for (const taken of steps) {
          if (taken.kind === 'skip') goTo(stores[0], totalsOf(stores[0]).last + taken.count);
          if (taken.kind === 'restart') {
            await stores[taken.by]?.close();
            stores[taken.by] = await open();
          }
          if (taken.kind === 'erase') {
            const sequence = kept.get(taken.traceId);
            if (sequence !== undefined) await stores[taken.by]?.retention.eraseEvents([sequence], 0);
            await stores[taken.by]?.retention.clean(forgotten, undefined);
            kept.delete(taken.traceId);
          }
          if (taken.kind === 'record') {
            const result = await record(stores[taken.by] as SqliteStore, eventOf(taken.traceId));
            expect(result).toBe(kept.has(taken.traceId) ? 'duplicate' : 'new');
            if (result === 'new') kept.set(taken.traceId, totalsOf(stores[0]).last);
          }
        }
        await Promise.all(stores.map((store) => store.close()));
      }),
      { numRuns: 20 },
    );
  },
);

test('the filter that another process has made of an era is taken, and not made again', async () => {
  const { store, write } = await writerWithFilters();
  write('one');
  goTo(store, era);
  write('two');
  // An empty filter, which says that the era has no identities: a copy that is recorded as new shows that it is used.
  store.database.prepare('insert into identity_filters values (0, ?)').run(newFilter());
  write('three');
  expect(write('one')).toEqual([era + 2]);
});
