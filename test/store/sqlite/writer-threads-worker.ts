/** A thread that is the writer of one store after another. */
import { parentPort } from 'node:worker_threads';
import type { WriterData } from '../../../src/store/sqlite/writer/write-message.ts';
import { WriterThread } from '../../../src/store/sqlite/writer/writer-thread.ts';

parentPort?.on('message', (data: WriterData) => {
  // A writer closes its port last.
  data.port.once('close', () => parentPort?.postMessage('closed', []));
  new WriterThread(data).listen();
});
