import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Clock } from '../../../kit/clock.ts';
import { AdaptiveSpin } from './adaptive-spin.ts';
import type { ToCommitThread } from './commit-message.ts';
import { Incoming } from './incoming.ts';
import { SyncAnswers } from './sync-answers.ts';

/** What the commit thread has received from the main thread, and has yet to do. */
export class Received {
  readonly writes = new Incoming();
  readonly syncs: SyncAnswers;
  readonly spin: AdaptiveSpin;
  readonly #port: MessagePort;
  #isClosing = false;

  constructor(port: MessagePort, clock: Clock) {
    this.#port = port;
    this.syncs = new SyncAnswers((message) => port.postMessage(message));
    this.spin = new AdaptiveSpin(clock);
  }

  /** Whether the thread is to end when everything is done. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  get isEmpty(): boolean {
    return this.writes.isEmpty && !this.syncs.isAnyOpen;
  }

  take(message: ToCommitThread): void {
    if (message === 'close') this.#isClosing = true;
    else if ('sync' in message) this.syncs.request(message);
    else if (this.writes.add(message) > 0) this.spin.eventsCame();
  }

  /**
   * Takes all messages that have come in, without going back to the event loop: their writes are in the next commit.
   */
  takeAll(): void {
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
      this.take(more.message as ToCommitThread);
    }
  }

  /** Looks for the next event for a moment, if that pays. Meanwhile, settlements gather, which may go along with it. */
  lookForEvent(): void {
    this.spin.run(() => {
      this.takeAll();
      return this.#isPressing;
    });
  }

  /** Whether there is something that must not wait. */
  get #isPressing(): boolean {
    return this.writes.hasEvents || this.syncs.isAnyOpen || this.#isClosing;
  }
}
