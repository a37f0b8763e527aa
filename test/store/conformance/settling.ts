/** What every store must do as an attempt begins, and when it ends. */
import { describe, expect, test } from 'vitest';
import type { UserDatabase } from '../../../src/dispatch/handler.ts';
import type { ClaimedRun } from '../../../src/store/claims.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  claimDue,
  claimedOf,
  claimedRun,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  failureOf,
  handlerOf,
  only,
  presentTime,
  runOf,
} from '../parts.ts';

/** Runs this part of the suite. */
export function describeSettling(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: settling`, () => {
    test('the last run that is done ends the event, and leaves no run behind', async () => {
      const store = await opened();
      expect(await store.settle(await claimedRun(store, eventOf('a')), endOf(done))).toBe('settled');
      expect(await store.counts()).toMatchObject({
        events: { new: 0, open: 0, done: 1 },
        runs: { due: 0, running: 0, blocked: 0, dead: 0 },
      });
    });

    test('an event is open while one of its runs is to be done, and done when none is', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      const [first, second] = store.runsOf(event, [one, handlerOf('two')]);
      if (!first || !second) throw new Error('nothing was routed');
      await store.settle(first, endOf(dueAt(0)));
      expect(await store.counts()).toMatchObject({
        events: { new: 1, open: 0, done: 0 },
        claims: { events: 1 },
      });
      await store.settle(second, endOf(done));
      expect((await store.counts()).events).toEqual({ new: 0, open: 1, done: 0 });
      expect(await store.waitingHandlers()).toEqual(['one']);
      const run = only(await claimDue(store, one));
      expect(await store.counts()).toMatchObject({ claims: { events: 0 }, runs: { due: 0, running: 1 } });
      await store.settle(run, endOf(dead, { attempts: 2 }));
      expect(await store.counts()).toMatchObject({ events: { new: 0, open: 0, done: 1 }, runs: { dead: 1 } });
      expect(await store.waitingHandlers()).toEqual([]);
      const { events } = await store.events.list({ state: 'dead' }, { limit: 10 });
      expect(only(only(events).runs.filter(({ state }) => state === 'dead'))).toMatchObject({
        handler: 'one',
        attempts: 2,
        reason: 'given up',
        settledAt: presentTime,
      });
    });

    test('a failed attempt may have taken a month', async () => {
      const store = await opened();
      const failure = { ...failureOf('m'), duration: 31 * 86_400_000 };
      const run = await claimedRun(store, eventOf('a'));
      expect(await store.settle(run, endOf(dead, { failure }))).toBe('settled');
      const { duration } = failure;
      expect((await store.events.get('a'))?.runs).toMatchObject([{ failures: [{ duration }] }]);
    });

    test(
      'beyond a thousand groups of failures, those go that no run has failed in last',
      { tags: 'long' },
      async () => {
        const store = await opened();
        const groups = Array.from({ length: 1_100 }, (_, index) => `group-${index}`);
        let run = await claimedRun(store, eventOf('a'));
        for (const group of groups) {
          await store.settle(run, endOf(dueAt(0), { failure: { ...failureOf('m'), group } }));
          run = only(await claimDue(store));
        }
        const kept = (await store.failures.named(groups)).map(({ id }) => id);
        expect(kept).toContain('group-1099');
        expect(kept.length).toBeGreaterThanOrEqual(1_000);
        expect(kept.length).toBeLessThan(1_050);
      },
    );

    test('a new event is claimed, or waits for a process that claims it', async () => {
      const store = await opened();
      await store.record(eventOf('waiting'), false).written;
      expect(await store.counts()).toMatchObject({ events: { new: 1 }, claims: { events: 0 } });
      await store.claimEvents(1);
      expect(await store.counts()).toMatchObject({ events: { new: 1 }, claims: { events: 1 } });
      const { written, claimed } = store.record(eventOf('at once'), true);
      await written;
      const also = (await claimed) === undefined ? 0 : 1;
      expect(await store.counts()).toMatchObject({ events: { new: 2 }, claims: { events: 1 + also } });
    });

    test('settling without the claim is lost, and changes nothing', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a'));
      await store.settle(run, endOf(dueAt(0)));
      for (const state of [done, dueAt(0)]) expect(await store.settle(run, endOf(state))).toBe('lost');
      expect(await store.requeue(run)).toBe('lost');
      const stored = only(await claimDue(store));
      expect(await store.settle(stored, endOf(done))).toBe('settled');
      expect(await store.settle(stored, endOf(dueAt(0)))).toBe('lost');
      expect(await store.requeue(stored)).toBe('lost');
      expect((await store.counts()).events.done).toBe(1);
    });

    test('with effects: both or neither', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a'));
      const effects: string[] = [];
      const failing = store.settleWith(run, endOf(done), () => {
        throw new Error('in the middle');
      });
      await expect(failing).rejects.toThrow('in the middle');
      expect((await store.counts()).events).toEqual({ new: 1, open: 0, done: 0 });
      expect(await store.settleWith(run, endOf(done), () => effects.push('first'))).toBe('settled');
      expect(await store.settleWith(run, endOf(done), () => effects.push('second'))).toBe('lost');
      expect(effects).toEqual(['first']);
    });

    test("users' own tables are written in whole transactions, which its commits see", async () => {
      const store = await opened();
      const { database } = store as unknown as { readonly database?: OfferedDatabase };
      if (!database) return;
      const write = async (work: (offered?: Offered) => unknown) => database.transaction(work);
      // A synchronous database is its own transaction.
      const into = (offered: Offered | undefined, sql: string) =>
        sqlOn(offered ?? (database as OfferedDatabase & UserDatabase), sql);
      await write((offered) => into(offered, 'create table orders (id integer)'));
      await write((offered) => into(offered, 'insert into orders values (1)'));
      const failing = write((offered) => {
        const inserted = into(offered, 'insert into orders values (2)');
        const fail = () => {
          throw new Error('in the middle');
        };
        return inserted instanceof Promise ? inserted.then(fail) : fail();
      });
      await expect(failing).rejects.toThrow('in the middle');
      const run = await claimedRun(store, eventOf('a'));
      let seen: unknown;
      const look = (offered: unknown) => {
        const rows = rowsOn(offered as Offered, 'select id from orders');
        seen = rows;
        return rows;
      };
      expect(await store.settleWith(run, endOf(done), look)).toBe('settled');
      expect(await seen).toEqual([{ id: 1 }]);
    });

    test("only the holder of the event's or the run's claim can read", async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      expect(await store.beginReading(event)).toBe(true);
      await store.endReading(event);
      const run = runOf(store, event);
      expect(await store.beginReading(run)).toBe(true);
      await store.settle(run, endOf(dueAt(0)));
      for (const ended of [event, run]) expect(await store.beginReading(ended)).toBe(false);
      const stored = only(await claimDue(store));
      for (const ended of [event, run]) expect(await store.beginReading(ended)).toBe(false);
      expect(await store.beginReading(stored)).toBe(true);
      await store.endReading(stored);
      await store.requeue(stored);
      expect(await store.beginReading(stored)).toBe(false);
    });

    test("begin counts an attempt beforehand, only for the holder of the run's claim", async () => {
      const store = await opened();
      const begun = await begin(store, await claimedRun(store, eventOf('a')));
      expect(begun).toMatchObject({ traceId: 'a', handler: 'handler', attempts: 1 });
      expect(await store.settle(begun, endOf(dueAt(0)))).toBe('settled');
      expect(await store.countAttempt(begun)).toBeUndefined();
      const again = only(await claimDue(store));
      expect(again.attempts).toBe(1);
      expect((await begin(store, again)).attempts).toBe(2);
      await store.settle(again, endOf(dead, { attempts: 2 }));
      expect(await store.countAttempt(again)).toBeUndefined();
    });

    test('begin that is repeated after a lost answer counts one attempt', async () => {
      const store = await opened();
      const run = await claimedRun(store, eventOf('a'));
      for (let time = 0; time < 2; time += 1) expect((await begin(store, run)).attempts).toBe(1);
    });

    test('begin ends the claim on the event once every run of it has a row', async () => {
      const store = await opened();
      const event = only(await claimedOf(store, eventOf('a')));
      const [first, second] = store.runsOf(event, [one, handlerOf('two')]);
      if (!first || !second) throw new Error('nothing was routed');
      const begun = await begin(store, first);
      expect(await store.counts()).toMatchObject({ events: { new: 1, open: 0 }, runs: { running: 1 } });
      await begin(store, second);
      expect(await store.counts()).toMatchObject({ events: { new: 0, open: 1 }, runs: { running: 2 } });
      expect(await store.beginReading(event)).toBe(false);
      expect(await store.settle(begun, endOf(done))).toBe('settled');
    });

    test('finish ends an event for which there is nothing to run', async () => {
      const store = await opened();
      await store.finish(only(await claimedOf(store, eventOf('a'))));
      expect((await store.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
    });
  });
}

const one = handlerOf('one');

/** Begins an attempt of a run that this process holds. */
async function begin(store: Store, run: ClaimedRun): Promise<ClaimedRun> {
  const begun = await store.countAttempt(run);
  if (!begun) throw new Error('the claim is lost');
  return begun;
}

interface OfferedDatabase {
  transaction(work: (offered?: Offered) => unknown): unknown;
}

/** What a store passes: a synchronous database, or an asynchronous connection. */
type Offered = UserDatabase | { query(sql: string): Promise<{ rows: unknown[] }> };

const sqlOn = (offered: Offered, sql: string) => ('exec' in offered ? offered.exec(sql) : offered.query(sql));
const rowsOn = (offered: Offered, sql: string) =>
  'exec' in offered ? offered.prepare(sql).all() : offered.query(sql).then(({ rows }) => rows);
