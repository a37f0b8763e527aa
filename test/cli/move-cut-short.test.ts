// @module-tag long
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { KeptTable } from '../../src/store/shared/kept-tables.ts';
import { type Movable, move } from '../../src/store/shared/move.ts';
import { movable } from '../../src/cli/inbox/move.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { type Receiver, RetryLater } from '../support/public.ts';
import { ownPostgres, withClient } from '../support/postgres.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { type CommandsDatabase, commandsDatabase } from './postgres-support.ts';

const known = bodyOf({ traceId: 't-known' });

/** An inbox in a file with an event whose run waits for a retry. */
async function sourceFile(): Promise<string> {
  const database = temporaryDatabase();
  await failing(database, (receiver) => deliver(receiver, known));
  return database;
}

/** Has a receiver work on a source until a run has failed, at least once. */
async function failing(database: string, first: (receiver: Receiver) => unknown = () => {}): Promise<void> {
  const { receiver, logs } = await started({ database }, (r) =>
    r.on('*', { name: 'journal', retry: { attempts: 1_000 } }, () => {
      throw new RetryLater('50ms');
    }),
  );
  await first(receiver);
  await logs.until('run_retry');
  await receiver.stop();
}

/** Moves no further than a table, as a move that is killed then. */
async function cutShort(from: Movable, to: Movable, last: KeptTable): Promise<void> {
  const cut = new Error('cut short');
  const moved = move(from, {
    name: to.name,
    asSource: (work) => to.asSource(work),
    asTarget: (work) =>
      to.asTarget((target) =>
        work({
          ...target,
          async write(table, rows, progress) {
            await target.write(table, rows, progress);
            if (progress.table !== table && table === last) throw cut;
          },
        }),
      ),
  });
  await expect(moved).rejects.toBe(cut);
}

/** Does something when a move is about to write the first rows of a table, or to finish, as if it were suspended meanwhile. */
function overtake(to: Movable, at: KeptTable | 'finish', act: () => Promise<unknown>): Movable {
  let isDone = false;
  const pass = async (step: KeptTable | 'finish') => {
    if (step !== at || isDone) return;
    isDone = true;
    await act();
  };
  return {
    name: to.name,
    asSource: (work) => to.asSource(work),
    asTarget: (work) =>
      to.asTarget((target) =>
        work({
          ...target,
          async write(table, rows, progress) {
            await pass(table);
            await target.write(table, rows, progress);
          },
          async finish(numbers) {
            await pass('finish');
            await target.finish(numbers);
          },
        }),
      ),
  };
}

/** Ends the connections that have a lock on the inbox, as a database does that restarts. */
async function endTransactions({ url, schema }: CommandsDatabase): Promise<void> {
  await withClient(url.replace(/\?.*/, ''), (client) =>
    client.query('select pg_terminate_backend(pid) from pg_locks where relation = $1::regclass', [
      `"${schema}".processes`,
    ]),
  );
}

/** Lets the database refuse every process that enters the inbox. */
async function refusingProcesses(target: string): Promise<void> {
  if (!target.startsWith('postgres')) {
    const database = new Database(target);
    database.exec("create trigger alone before insert on processes begin select raise(abort, 'alone'); end");
    return void database.close();
  }
  const url = new URL(target);
  const schema = `"${url.searchParams.get('schema')}"`;
  await withClient(target.replace(/\?.*/, ''), (client) =>
    client.query(
      `create function ${schema}.alone() returns trigger language plpgsql as 'begin raise ''alone''; end';
       create trigger alone before insert on ${schema}.processes execute function ${schema}.alone()`,
    ),
  );
}

/** Fills an inbox with events that wait. */
async function waitingIn(database: string): Promise<void> {
  const { receiver } = await started({ database }, () => {});
  for (const callId of ['one', 'two', 'three']) await deliver(receiver, bodyOf({ callId }));
  await receiver.stop();
}

/** Of which calls a receiver handles events on an inbox until none waits. */
async function handledOn(database: string): Promise<string[]> {
  const handled: string[] = [];
  const { receiver } = await started({ database }, (r) =>
    r.on('*', { name: 'crm' }, ({ callId }) => void handled.push(String(callId))),
  );
  await expect.poll(async () => (await receiver.counts()).events.new).toBe(0);
  await receiver.stop();
  return handled.sort();
}

describe.each(['SQLite', 'Postgres'])('a move to %s that was cut short', (kind) => {
  async function places() {
    const file = await sourceFile();
    const target = kind === 'SQLite' ? temporaryDatabase() : (await commandsDatabase()).url;
    return { file, from: movable(file), target, to: movable(target) };
  }

  it('refuses receivers, and another move, on a partial target', async () => {
    const { from, target, to } = await places();
    await cutShort(from, to, 'bodies');
    // The trace ids aren't there yet: a copy of the event would be handled once more.
    const unfinished = { code: 'move_unfinished', message: expect.stringContaining(from.name) };
    await expect(started({ database: target })).rejects.toMatchObject(unfinished);
    const further = move(to, movable(temporaryDatabase()));
    await expect(further).rejects.toMatchObject(unfinished);

    await move(from, to);
    const { receiver } = await started({ database: target });
    expect(await deliver(receiver, known)).toMatchObject({ json: { status: 'duplicate' } });
  });

  it('is not disturbed by a receiver that is refused: it does not enter', async () => {
    const { from, target, to } = await places();
    await cutShort(from, to, 'bodies');
    await refusingProcesses(target);
    await expect(started({ database: target })).rejects.toMatchObject({ code: 'move_unfinished' });
  });

  it('does not continue after a retry failed on the source', async () => {
    const { file, from, to } = await places();
    await cutShort(from, to, 'runs');
    await failing(file);
    await expect(move(from, to)).rejects.toMatchObject({ code: 'move_refused' });
  });

  it('writes nothing beside a receiver that has started on the empty target', async () => {
    const { from, target, to } = await places();
    const beside: Movable = {
      name: to.name,
      asSource: (work) => to.asSource(work),
      asTarget: (work) =>
        to.asTarget(async (found) => {
          await started({ database: target });
          return work(found);
        }),
    };
    await expect(move(from, beside)).rejects.toMatchObject({ code: 'inbox_in_use' });
  });

  it.each<KeptTable | 'finish'>(['events', 'waiting', 'settings', 'finish'])(
    'writes nothing once another move has ended, and a receiver has handled what was moved, when it comes to %s',
    async (last) => {
      const { target, to } = await places();
      const source = await commandsDatabase();
      await waitingIn(source.url);
      const from = movable(source.url);
      let handled: readonly string[] = [];
      const overtaken = overtake(to, last, async () => {
        await endTransactions(source);
        await move(from, to);
        handled = await handledOn(target);
      });
      await expect(move(from, overtaken)).rejects.toMatchObject({ code: 'inbox_in_use' });
      expect(handled).toEqual(['one', 'three', 'two']);
      expect(await handledOn(target)).toEqual([]);
    },
  );
});

it('a move from a Postgres that restarts reports it as unreachable, and continues when it is run again', async () => {
  const server = await ownPostgres();
  await waitingIn(server.url);
  const [from, target] = [movable(server.url), temporaryDatabase()];
  const restarting = overtake(movable(target), 'waiting', async () => {
    await server.stop('immediate');
    await server.start();
  });
  await expect(move(from, restarting)).rejects.toMatchObject({ code: 'database_unreachable' });
  await expect(move(from, movable(target))).resolves.toMatchObject({ newEvents: 3 });
  expect(await handledOn(target)).toEqual(['one', 'three', 'two']);
});

it('refuses receivers on the source while it is moved, and says what to wait for', async () => {
  const source = await commandsDatabase();
  await waitingIn(source.url);
  const to = movable(temporaryDatabase());
  const refused = overtake(to, 'waiting', () =>
    expect(started({ database: source.url })).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(
        /ringback inbox move\. Stop that process, or wait until it has finished/,
      ) as string,
    }),
  );
  await expect(move(movable(source.url), refused)).resolves.toMatchObject({ newEvents: 3 });
});

it('a move that has ended says so, though the connection to its source was lost before it was closed', async () => {
  const source = await commandsDatabase();
  await waitingIn(source.url);
  const target = temporaryDatabase();
  const losing = overtake(movable(target), 'finish', () => endTransactions(source));
  await expect(move(movable(source.url), losing)).resolves.toMatchObject({ newEvents: 3 });
  expect(await handledOn(target)).toEqual(['one', 'three', 'two']);
});
