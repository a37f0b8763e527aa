/** Somebody holds the database, and does not let it go: the receiver can be stopped all the same. */
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Receiver, RunContext } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const ends: Readonly<Record<string, (context: RunContext) => unknown>> = {
  'is done': () => {},
  commits: ({ commit }) => commit(() => {}),
  fails: () => {
    throw new Error('not today');
  },
};

/** How the database is held, from the start of a run until the test ends. */
const holds: Readonly<Record<string, (receiver: Receiver, database: string) => void>> = {
  'another connection': (_receiver, database) => {
    const other = new Database(database);
    other.exec('begin immediate');
    onTestFinished(() => void other.close());
  },
  'a transaction that was left open': (receiver) => receiver.database.exec('begin immediate'),
};

describe.each(Object.entries(holds))('with %s', (_name, hold) => {
  test.each(Object.entries(ends))(
    'a receiver stops while a run %s, which is done again',
    async (_end, end) => {
      const clock = new ManualClock();
      const database = temporaryDatabase();
      const gate = new Gate();
      const { receiver } = await started({ clock, database }, (r) =>
        r.on('*', { name: 'held' }, async (_event, context) => {
          await gate.pass();
          await end(context);
        }),
      );
      const body = bodyOf({ traceId: 'trace-1' });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
      await gate.reached;
      hold(receiver, database);
      gate.open();
      await clock.runUntil(receiver.stop({ drain: 1_000 }));
      const kept = new Database(database, { readonly: true });
      onTestFinished(() => void kept.close());
      expect(kept.prepare('select sequence from claims').all()).toEqual([{ sequence: 1 }]);
    },
  );
});
