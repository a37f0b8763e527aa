import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/kit/clock.ts';
import { bodyOf, secret, signedHeaders } from '../../support/deliveries.ts';
import type { History } from './history.ts';
import { eventNames } from './terms.ts';

/** How long a sender waits for an answer, in milliseconds. */
export const senderTimeout = 6_000;

export interface SenderOptions {
  readonly url: string;
  readonly history: History;
  readonly random: Random;
  /** How many calls go on at the same time. */
  readonly calls: number;
  /** How long a call pauses between its events at the most, in milliseconds. */
  readonly maxPause: number;
}

/** Sends the events of calls: those of one call one after the other, each until it is acknowledged, and some several times. */
export class Sender {
  readonly secret = secret;
  readonly #options: SenderOptions;
  #begun = 0;
  #isStopped = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Resolves when it has been stopped, and the calls that it had begun are over. */
  async run(): Promise<void> {
    await this.#copied(100);
    await Promise.all(Array.from({ length: this.#options.calls }, () => this.#callAfterCall()));
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #callAfterCall(): Promise<void> {
    while (!this.#isStopped) await this.#call(`call-${(this.#begun += 1)}`);
  }

  async #call(callId: string): Promise<void> {
    const { random, maxPause, history } = this.#options;
    const isWhole = random() < 0.9;
    const more = Math.floor(random() * 4);
    const names = [
      ...Array.from({ length: 1 + more }, () => eventNames[0]),
      eventNames[1],
      ...(isWhole ? [eventNames[2]] : []),
    ];
    for (const [place, eventName] of names.entries()) {
      const traceId = `${callId}-${place}`;
      const body = bodyOf({ traceId, eventName, callId });
      history.write({ kind: 'sent', traceId, callId, eventName });
      if (random() < 0.1) await this.#copies(traceId, body, 2 + Math.floor(random() * 4));
      while ((await this.#deliver(traceId, body)) !== 200) await pause(20 + random() * 100);
      if (random() < 0.05) await this.#deliver(traceId, body);
      await pause(random() * maxPause);
    }
  }

  /** One event, in many copies at the same time. */
  async #copied(copies: number): Promise<void> {
    const [callId, eventName] = ['call-0', eventNames[1]];
    const traceId = `${callId}-0`;
    const body = bodyOf({ traceId, eventName, callId });
    this.#options.history.write({ kind: 'sent', traceId, callId, eventName });
    await this.#copies(traceId, body, copies);
    while ((await this.#deliver(traceId, body)) !== 200) await pause(100);
  }

  async #copies(traceId: string, body: string, count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#deliver(traceId, body)));
  }

  async #deliver(traceId: string, body: string): Promise<number | undefined> {
    const { url, history } = this.#options;
    let status: number | undefined;
    let result: string | undefined;
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...signedHeaders(body), 'x-webhook-traceid': traceId },
        body,
        signal: AbortSignal.timeout(senderTimeout),
      });
      ({ status } = answer);
      result = ((await answer.json()) as { readonly status?: string }).status;
    } catch {
      // No answer, or none in time.
    }
    history.write({ kind: 'answered', traceId, status, result });
    return status;
  }
}
