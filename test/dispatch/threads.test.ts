import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

test(
  'the claims of a receiver in a worker thread are taken over when the thread has ended, and no sooner',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(new URL('./threaded-receiver.ts', import.meta.url), {
      workerData: { database, port: port2 },
      transferList: [port2],
    });
    await once(port1, 'message');
    const handled: string[] = [];
    const another = () =>
      started({ database }, (r) =>
        r.on('*', { name: 'handler' }, ({ traceId }) => void handled.push(traceId)),
      );
    const beside = await another();
    expect(beside.logs.of('claims_taken_over')).toEqual([]);
    await beside.receiver.stop();
    await worker.terminate();
    const after = await another();
    await after.logs.until('run_done');
    expect(after.logs.of('claims_taken_over')).toHaveLength(1);
    expect(handled).toEqual(['held']);
  },
);
