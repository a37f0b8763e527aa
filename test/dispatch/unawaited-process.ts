/**
 * A receiver whose handlers don't await `ctx.commit`: each event says by its trace id what is wrong with the commits of
 * its handler. Its log goes to stdout. After the last run it stops, and says so.
 */
import { subscribe } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers/promises';
import { createReceiver, type RunContext, type UserDatabase } from '../../src/index.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';

const write = (database: UserDatabase) => {
  database.exec('create table if not exists effects (n); insert into effects values (1)');
};
const fail = () => {
  throw new RangeError('in the effects');
};
const ended = new Map<string, PromiseWithResolvers<void>>();

const handlers: Readonly<Record<string, (context: RunContext) => void>> = {
  repeated: ({ commit }) => {
    void commit(write);
    void commit(write);
  },
  late: ({ commit }) => {
    void ended.get('late')?.promise.then(() => void commit(write));
  },
  throwing: ({ attempt, commit }) => {
    if (attempt === 1) void commit(fail);
  },
  hidden: ({ attempt, commit }) => {
    if (attempt > 1) return;
    void commit(fail);
    throw new TypeError('of the handler');
  },
};

subscribe('ringback.run_done', (line) => {
  ended.get((line as { traceId: string }).traceId)?.resolve();
});
const receiver = createReceiver({ secrets: secret, database: ':memory:', retry: { base: 0 } });
receiver.on('*', { name: 'careless' }, ({ traceId }, context) => handlers[traceId]?.(context));
await receiver.start();
for (const traceId of Object.keys(handlers)) {
  const { promise } = ended.set(traceId, Promise.withResolvers()).get(traceId) ?? {};
  await deliver(receiver, bodyOf({ traceId }));
  await promise;
  // Node ends the process because of unhandled rejections before the next turn of the event loop.
  await setImmediate();
}
const { n } = receiver.database.prepare('select count(*) as n from effects').get() as { n: number };
await receiver.stop();
process.stdout.write(`${JSON.stringify({ effects: n })}\n`);
