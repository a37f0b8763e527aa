import { Semaphore } from '../../kit/limiters.ts';
import { ApiProblem } from './problem.ts';

/** How many go on at the same time: each may read much of the inbox, on the thread that takes deliveries. */
const atOnce = 4;
/** How many may wait for that. */
const maxWaiting = 100;

/** Bounds how many of an API's searches, or of its long reads, go on and wait at the same time. */
export class Searches {
  readonly #places = new Semaphore(atOnce);
  #count = 0;

  /** @throws ApiProblem if too many wait; the reason of `signal` if the client has left while this one waited */
  async run<T>(search: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#count === atOnce + maxWaiting)
      throw new ApiProblem(
        503,
        'too_many_searches',
        `At most ${maxWaiting} searches can wait while ${atOnce} go on. Ask again later.`,
      );
    this.#count += 1;
    try {
      return await this.#places.run(async () => {
        signal.throwIfAborted();
        return search();
      });
    } finally {
      this.#count -= 1;
    }
  }
}
