/** A thread that is the writer of one store after the other. */
import { parentPort } from 'node:worker_threads';
import type { WriterData } from '../../src/store/sqlite/writer/write-message.ts';
import { WriterThread } from '../../src/store/sqlite/writer/writer-thread.ts';

parentPort?.on('message', (data: WriterData) => {
  // The last that a writer does is to close its port.
  data.port.once('close', () => parentPort?.postMessage('closed', []));
  new WriterThread(data).listen();
});
