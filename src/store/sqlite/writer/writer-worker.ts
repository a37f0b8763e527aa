/** The entry point of the writer thread. */
import { workerData } from 'node:worker_threads';
import type { WriterData } from './write-message.ts';
import { WriterThread } from './writer-thread.ts';

new WriterThread(workerData as WriterData).listen();
