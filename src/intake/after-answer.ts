import type { CallEvent } from '../model.ts';

/** What new events lead to. */
export interface AfterAnswerParts {
  readonly observe: (event: CallEvent, receivedAt: number) => void;
  /** Begins the runs of events that have been handed over. */
  readonly begin: () => void;
  /** Looks for new events in the inbox. */
  readonly wake: () => void;
}

interface Answered {
  readonly event: CallEvent;
  readonly receivedAt: number;
  readonly isHandedOver: boolean;
}

/**
 * What is done about new events once they have been answered: once a turn of the event loop for all of them, after
 * their answers have been written. What looks at an event comes before its handlers, which may change it.
 */
export class AfterAnswer {
  readonly #parts: AfterAnswerParts;
  #answered: Answered[] = [];

  constructor(parts: AfterAnswerParts) {
    this.#parts = parts;
  }

  add(event: CallEvent, receivedAt: number, isHandedOver: boolean): void {
    this.#answered.push({ event, receivedAt, isHandedOver });
    if (this.#answered.length === 1) setImmediate(() => this.#follow());
  }

  #follow(): void {
    const { observe, begin, wake } = this.#parts;
    const answered = this.#answered;
    this.#answered = [];
    for (const { event, receivedAt } of answered) observe(event, receivedAt);
    begin();
    if (answered.some(({ isHandedOver }) => !isHandedOver)) wake();
  }
}
