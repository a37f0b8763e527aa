import { AsyncLocalStorage } from 'node:async_hooks';
import { configError } from '../../errors/errors.ts';
import { KeyedMutex } from './keyed-mutex.ts';

interface Call {
  readonly id: string;
  /** The call of `onSecret` that made this one. */
  readonly outer: Call | undefined;
  isOver: boolean;
}

/** Orders the calls of `onSecret`: a store that keeps one secret per subscription must get the newest one last. */
export class Handover {
  readonly #mutex = new KeyedMutex();
  readonly #current = new AsyncLocalStorage<Call>();

  /**
   * Calls `onSecret` after all earlier calls for the same subscription have ended.
   *
   * @throws ConfigError `secret_nested`; any error of `onSecret`
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

  /**
   * @throws ConfigError `secret_nested` inside `onSecret` of the same subscription, where the next call would deadlock
   */
  requireOutside(id: string): void {
    for (let call = this.#current.getStore(); call; call = call.outer)
      if (call.id === id && !call.isOver) throw configError('secret_nested', { subscriptionId: id });
  }
}
