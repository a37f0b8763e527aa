/**
 * An app whose writer thread ends in the middle of a transaction while the app itself writes without waiting. Its one
 * argument is a JSON object with the database. It prints JSON lines, the last one when it has survived all of that.
 */
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { createReceiver } from '../../src/index.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { storeOf } from '../../src/receiver/database.ts';
import { turn } from '../support/clock.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import { clockWithoutWriteTimeout } from '../support/clock-without-write-timeout.ts';
import { writtenWhenFree } from '../support/written-when-free.ts';

const { database } = JSON.parse(process.argv[2] ?? '{}') as { database: string };
const threads: Worker[] = [];
process.on('worker', (thread) => threads.push(thread));
const say = (line: Readonly<Record<string, unknown>>) => process.stdout.write(`${JSON.stringify(line)}\n`);

// Without that timeout, so that nothing but the end of the thread fails `slow`.
const receiver = createReceiver({
  secrets: secret,
  database,
  clock: clockWithoutWriteTimeout,
  logger: { level: 'silent' },
});
const last = Promise.withResolvers<void>();
receiver.on('*', { name: 'handler' }, ({ traceId }) => {
  say({ handled: traceId });
  if (traceId === 'after') last.resolve();
});
await receiver.start();
await deliver(receiver, bodyOf({ traceId: 'before' }));
// The end of its run may otherwise be in the transaction that is lost, and it is rightly handled again.
while ((await receiver.counts()).events.new > 0) await turn();
// The transaction that records the event `slow` takes long enough to be noticed.
const slowly = `create table notes (text text); create trigger slow before insert on events
  when new.trace_id = 'slow' begin insert into notes select 'slow' where (with recursive numbers(number) as
    (select 1 union all select number + 1 from numbers where number < 2000000) select count(*) from numbers) < 0; end`;
await writtenWhenFree(() => receiver.database.exec(slowly));
const witness = new Database(database, { timeout: 0 });

function isLocked(): boolean {
  try {
    witness.exec('begin immediate; rollback');
    return false;
  } catch {
    return true;
  }
}

const slow = deliver(receiver, bodyOf({ traceId: 'slow' }));
while (!isLocked()) await turn();
void threads.at(-1)?.terminate();
let failure: unknown;
try {
  receiver.database.exec("insert into notes values ('written')");
} catch (error) {
  failure = String(error);
}
say({ wrote: failure ?? true });
say({ slow: (await slow).status });
// The next delivery may be given to a thread that is still ending.
let status: number | undefined;
do status = (await deliver(receiver, bodyOf({ traceId: 'after' }))).status;
while (status !== 200);
await writtenWhenFree(() => receiver.database.exec("insert into notes values ('again')"));
await last.promise;
// An event that waits although its handler has run would be handled again.
while ((await receiver.counts()).events.new > 0) await turn();
const { processes } = await receiver.handlers.list();
say({ processes: processes.map(({ handlers }) => handlers) });
// Another process takes it for dead, as if it had been suspended, so that it has to enter again.
const other = storeOf(database, systemClock);
await other.open();
const isEntered = witness.prepare('select 1 from processes where id = ?').pluck();
while (isEntered.get(processes[0]?.id) !== undefined) await other.keepAlive();
await deliver(receiver, bodyOf({ traceId: 'again' }));
while ((await receiver.counts()).events.new > 0) await turn();
say({ again: (await other.handlers.processes()).flatMap(({ handlers }) => handlers) });
await other.close();
await receiver.stop();
say({ after: status });
