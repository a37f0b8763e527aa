import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { ToCommitThread } from './commit-message.ts';
import { Incoming } from './incoming.ts';
import { SyncAnswers } from './sync-answers.ts';

/** What the commit thread has received from the main thread, and has yet to do. */
export class Received {
  readonly writes = new Incoming();
  readonly syncs: SyncAnswers;
  readonly #port: MessagePort;
  #isClosing = false;

  constructor(port: MessagePort) {
    this.#port = port;
    this.syncs = new SyncAnswers((message) => port.postMessage(message));
  }

  /** Whether the thread is to end when everything is done. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  take(message: ToCommitThread): void {
    if (message === 'close') this.#isClosing = true;
    else if ('sync' in message) this.syncs.request(message);
    else this.writes.add(message);
  }

  /**
   * Takes all messages that have come in, without going back to the event loop: their writes are in the next commit.
   */
  takeAll(): void {
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
      this.take(more.message as ToCommitThread);
    }
  }
}
