import { unlessAborted } from '../../kit/aborting.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { configError } from '../../errors/errors.ts';

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

  /** Calls `onSecret` after all earlier calls for the same subscription. @throws ConfigError `secret_nested` */
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

  /** @throws ConfigError `secret_nested` inside `onSecret` of the same subscription, which would wait for itself */
  requireOutside(id: string): void {
    for (let call = this.#current.getStore(); call; call = call.outer)
      if (call.id === id && !call.isOver) throw configError('secret_nested', { subscriptionId: id });
  }
}

/** Runs work with the same key one at a time. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs the work once all earlier work with this key has ended, whether it failed or not, or has called `release`. */
  async run<Result>(
    key: string,
    signal: AbortSignal | undefined,
    work: (release: () => void) => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    // Later work waits for earlier work even if this work is aborted.
    const own = before.then(() => released);
    this.#last.set(key, own);
    void this.#forget(key, own);
    try {
      await (signal === undefined ? before : unlessAborted(signal, () => before));
      return await work(release);
    } finally {
      release();
    }
  }

  async #forget(key: string, own: Promise<void>): Promise<void> {
    await own;
    if (this.#last.get(key) === own) this.#last.delete(key);
  }
}
