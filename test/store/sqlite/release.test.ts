import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { deliver, otherSecret } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

test('a release that fails in the middle leaves the delivery in quarantine, and no event', async () => {
  const database = temporaryDatabase();
  const wrong = await started({ database, secrets: otherSecret });
  await deliver(wrong.receiver);
  await wrong.receiver.stop();
  const { receiver } = await started({ database });
  const id = (await receiver.quarantine.list()).deliveries[0]?.id ?? 0;
  const other = new Database(database);
  other.exec("create trigger broken before insert on events begin select raise(abort, 'broken'); end");
  await expect(receiver.quarantine.release(id)).rejects.toThrow('broken');
  expect((await receiver.counts()).quarantine.notAuthentic).toBe(1);
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
  other.exec('drop trigger broken');
  other.close();
  expect(await receiver.quarantine.release(id)).toMatchObject({ status: 'accepted' });
  expect((await receiver.counts()).quarantine.notAuthentic).toBe(0);
});
