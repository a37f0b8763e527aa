import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { PostgresMove } from '../../src/store/postgres/admin/postgres-move.ts';
import { readPlace } from '../../src/store/postgres/connection/place.ts';
import type { KeptTable } from '../../src/store/shared/kept-tables.ts';
import { type Movable, move } from '../../src/store/shared/move.ts';
import { SqliteMove } from '../../src/store/sqlite/admin/sqlite-move.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { type Receiver, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { commandsDatabase } from './postgres-support.ts';

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

describe.each(['SQLite', 'Postgres'])('a move to %s that was cut short', (kind) => {
  async function places() {
    const file = await sourceFile();
    const target = kind === 'SQLite' ? temporaryDatabase() : (await commandsDatabase()).url;
    const place = readPlace(target);
    const to = place ? new PostgresMove(place, systemClock) : new SqliteMove(target, systemClock);
    return { file, from: new SqliteMove(file, systemClock), target, to };
  }

  it('keeps receivers, and another move, from the part that is there', async () => {
    const { from, target, to } = await places();
    await cutShort(from, to, 'bodies');
    // The trace ids aren't there yet: a copy of the event would be handled once more.
    const unfinished = { code: 'move_unfinished', message: expect.stringContaining(from.name) };
    await expect(started({ database: target })).rejects.toMatchObject(unfinished);
    const further = move(to, new SqliteMove(temporaryDatabase(), systemClock));
    await expect(further).rejects.toMatchObject(unfinished);

    await move(from, to);
    const { receiver } = await started({ database: target });
    expect(await deliver(receiver, known)).toMatchObject({ json: { status: 'duplicate' } });
  });

  it('does not go on after a retry that failed on the source meanwhile', async () => {
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
});
