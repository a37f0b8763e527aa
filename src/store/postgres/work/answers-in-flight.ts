import { setImmediate as nextTurn } from 'node:timers/promises';

/** Claims or recordings that have not been answered: the database may have made them already. */
export class AnswersInFlight {
  readonly #answers = new Set<Promise<unknown>>();

  add<T>(answer: Promise<T>): Promise<T> {
    this.#answers.add(answer);
    const remove = () => void this.#answers.delete(answer);
    answer.then(remove, remove);
    return answer;
  }

  /** Resolves when the present ones have been answered, and their callers have taken the answers. */
  async answered(): Promise<void> {
    if (this.#answers.size === 0) return;
    await Promise.allSettled(this.#answers);
    await nextTurn();
  }
}
