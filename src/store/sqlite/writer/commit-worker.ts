/** The commit thread begins here. */
import { workerData } from 'node:worker_threads';
import type { CommitThreadData } from './commit-message.ts';
import { Committer } from './committer.ts';

new Committer(workerData as CommitThreadData).listen();
