import { setImmediate as turn } from 'node:timers/promises';

/** Claims, or recordings, whose answers are on their way: the database may have made them already. */
export class AnswersInFlight {
  readonly #answers = new Set<Promise<unknown>>();

  add<T>(answer: Promise<T>): Promise<T> {
    this.#answers.add(answer);
    const remove = () => void this.#answers.delete(answer);
    answer.then(remove, remove);
    return answer;
  }

  /** Resolves when the answers in flight now have come, and whoever asked for them has taken them. */
  async arrived(): Promise<void> {
    if (this.#answers.size === 0) return;
    await Promise.allSettled(this.#answers);
    await turn();
  }
}
