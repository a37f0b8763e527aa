import { setImmediate } from 'node:timers';
import type { CallEvent } from '../events/model.ts';

/** What is done after the answers to new events. */
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
 * Follows up on new events after their answers have been written: once per turn of the event loop, for all of them
 * together. `observe` gets an event before its handlers do, because they may change it.
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
