import { AsyncLocalStorage } from 'node:async_hooks';
import { configError } from '../../errors/errors.ts';
import { KeyedMutex } from './keyed-mutex.ts';

/** A call of `onSecret`. */
interface Call {
  readonly id: string;
  /** The call inside of which it was made. */
  readonly outer: Call | undefined;
  isOver: boolean;
}

/** The calls of `onSecret`: what keeps one secret for each subscription must get the newest one last. */
export class Handover {
  readonly #mutex = new KeyedMutex();
  readonly #current = new AsyncLocalStorage<Call>();

  /**
   * Calls `onSecret` once all earlier calls for the same subscription have ended.
   *
   * @throws ConfigError `secret_nested`; what `onSecret` throws
   */
  async run(id: string, onSecret: () => void | Promise<void>): Promise<void> {
    this.requireOutside(id);
    const call: Call = { id, outer: this.#current.getStore(), isOver: false };
    await this.#mutex.run(id, undefined, async () => {
      try {
        await this.#current.run(call, onSecret);
      } finally {
        call.isOver = true;
      }
    });
  }

  /** @throws ConfigError `secret_nested` inside `onSecret` of the same subscription, which the next call would wait for */
  requireOutside(id: string): void {
    for (let call = this.#current.getStore(); call; call = call.outer)
      if (call.id === id && !call.isOver) throw configError('secret_nested', { subscriptionId: id });
  }
}
