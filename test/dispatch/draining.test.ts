import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { made, started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

test('a process that drains heartbeats until its runs have ended', async () => {
  const [clock, database, gate] = [new ManualClock(), temporaryDatabase(), new Gate()];
  const { receiver } = await started({ clock, database }, (r) =>
    r.on('*', { name: 'long' }, () => gate.pass()),
  );
  const body = bodyOf({ traceId: 'trace-1' });
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  await gate.reached;
  const other = new Database(database, { readonly: true });
  onTestFinished(() => void other.close());
  const heartbeats = (): number => other.prepare('select heartbeats from processes').pluck().get() as number;
  const stopping = receiver.stop({ drain: '20s' });
  const before = heartbeats();
  for (let heartbeat = 1; heartbeat <= 3; heartbeat += 1) {
    await clock.timer(2_000);
    clock.advance(2_000);
    while (heartbeats() < before + heartbeat) await turn();
  }
  gate.open();
  await stopping;
});

test('a start that fails leaves nothing running', async () => {
  const clock = new ManualClock();
  const store = storeAround(':memory:', clock, (method) =>
    method === 'waitingHandlers' ? () => Promise.reject(new Error('the disk is gone')) : undefined,
  );
  const { receiver, logs } = made({ clock, database: store });
  receiver.on('*', { name: 'handler' }, () => {});
  await expect(receiver.start()).rejects.toThrow('the disk is gone');
  clock.advance(10_000);
  for (let turns = 0; turns < 10; turns += 1) await turn();
  expect(logs.of('dispatch_failed')).toEqual([]);
});
