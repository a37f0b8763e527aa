// @module-tag long
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import type { Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const withHandlers =
  (...names: readonly string[]) =>
  (receiver: Receiver) => {
    for (const name of names) receiver.on('*', { name }, () => {});
  };

test('starting beside a receiver with other handlers logs which', async () => {
  const database = temporaryDatabase();
  const first = await started({ database }, withHandlers('orders', 'journal'));
  const second = await started({ database }, withHandlers('journal', 'alarm'));
  expect(first.logs.of('handlers_differ')).toEqual([]);
  expect(second.logs.of('handlers_differ')).toMatchObject([
    { level: 40, handlers: ['alarm'], elsewhere: ['orders'] },
  ]);
});

test('nothing is logged beside the same handlers, or none, or a receiver that has stopped', async () => {
  const database = temporaryDatabase();
  const gone = await started({ database }, withHandlers('orders'));
  await gone.receiver.stop();
  const others = [withHandlers('journal', 'alarm'), withHandlers(), withHandlers('alarm', 'journal')];
  for (const register of others) {
    const { logs } = await started({ database }, register);
    expect(logs.of('handlers_differ')).toEqual([]);
  }
});

test('a start does not wait long to publish its handlers', async () => {
  const file = temporaryDatabase();
  const other = new Database(file);
  onTestFinished(() => void other.close());
  const database = storeAround(file, systemClock, (method, work) => {
    if (method !== 'announce') return undefined;
    return (...given) => {
      other.exec('begin immediate');
      return work(...given);
    };
  });
  const { logs } = await started({ database }, withHandlers('orders'));
  expect(other.inTransaction).toBe(true);
  other.exec('rollback');
  expect(logs.of('handlers_differ')).toEqual([]);
});
