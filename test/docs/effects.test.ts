/** Runs the recipes of docs/effects.md for query builders: each handler writes its row with `ctx.commit`. */
import { expect, onTestFinished, test } from 'vitest';
import type { Receiver } from '../../src/index.ts';
import { buildDelivery, deliver, handled, testReceiver } from '../../src/testing/index.ts';
import { recipeFor } from './recipes.ts';

interface Recipe {
  readonly default: (receiver: Receiver) => void;
}

test.each(['drizzle-orm/better-sqlite3', 'kysely'])(
  'the recipe for %s writes within the transaction of ctx.commit',
  async (builder) => {
    const receiver = testReceiver({ retry: { attempts: 1 } });
    onTestFinished(() => receiver.stop({ drain: 0 }));
    receiver.database.exec('create table orders (call_id text primary key, ended_at text not null)');
    const { default: handlers } = (await import(recipeFor(builder, 'docs/effects.md'))) as Recipe;
    handlers(receiver);
    await receiver.start();
    for (const traceId of ['trace-1', 'trace-2'])
      await deliver(receiver, buildDelivery('call-ended', { traceId, callId: 'call-1' }));
    expect(await handled(receiver, 'trace-1')).toMatchObject({ state: 'done', runs: [] });
    // The second event of the call breaks the key: its run isn't done either.
    expect((await handled(receiver, 'trace-2')).runs).toMatchObject([{ handler: 'orders', state: 'dead' }]);
    expect(receiver.database.prepare('select call_id from orders').all()).toEqual([{ call_id: 'call-1' }]);
  },
);
