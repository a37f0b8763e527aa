import { AnswerReader, type Verdict } from './answer.ts';
import { Connection } from './connection.ts';
import type { Deliveries } from './deliveries.ts';
import { type LoadOrder, type LoadReport, answerTimeout } from './order.ts';
import { Tally } from './tally.ts';

/** How often due deliveries are sent, in milliseconds. Node's timers can't be shorter. */
const tick = 1;

/**
 * Sends at an even pace, whether or not answers come: a slow server must not slow down the load. A delivery that is due
 * while all connections are busy is sent when one is free, and its time counts from when it was due.
 */
export class EvenLoad {
  readonly #order: LoadOrder;
  readonly #deliveries: Deliveries;
  readonly #tally: Tally;
  readonly #reader = new AnswerReader();
  readonly #connections = new Set<Connection>();
  /** Free connections, those free for longest first, so that all are used and none is closed for being idle. */
  readonly #free: Connection[] = [];
  readonly #total: number;
  readonly #startedAt = performance.now();
  #next = 0;
  #inFlight = 0;
  #finish: () => void = () => {};

  constructor(order: LoadOrder, deliveries: Deliveries) {
    this.#order = order;
    this.#deliveries = deliveries;
    this.#tally = new Tally(deliveries, order.tellsIds ?? false);
    this.#total = Math.min(deliveries.count, Math.floor(order.pace * order.seconds));
  }

  async run(): Promise<LoadReport> {
    const ticker = setInterval(() => this.#sendDue(), tick);
    let timeout: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#finish = resolve;
      timeout = setTimeout(resolve, this.#order.seconds * 1_000 + answerTimeout);
    });
    clearInterval(ticker);
    clearTimeout(timeout);
    for (; this.#inFlight > 0; this.#inFlight -= 1) this.#tally.break();
    const report = this.#tally.report(false);
    for (const connection of this.#connections) connection.end();
    return report;
  }

  #sendDue(): void {
    const now = performance.now();
    while (this.#next < this.#total && this.#dueAt(this.#next) <= now) {
      const connection = this.#free.shift() ?? this.#openAnother();
      if (!connection) return;
      connection.delivery = this.#next;
      connection.sentAt = this.#dueAt(this.#next);
      connection.send(this.#deliveries.at(this.#next));
      this.#inFlight += 1;
      this.#next += 1;
    }
  }

  #dueAt(index: number): number {
    return this.#startedAt + (index * 1_000) / this.#order.pace;
  }

  #openAnother(): Connection | undefined {
    if (this.#connections.size >= this.#order.connections) return undefined;
    const connection = new Connection(this.#order.port, this.#reader, {
      onAnswer: (answered, verdict) => this.#take(answered, verdict),
      onGone: (gone, owed) => this.#forget(gone, owed),
    });
    this.#connections.add(connection);
    return connection;
  }

  #take(connection: Connection, verdict: Verdict): void {
    this.#tally.answer(connection.delivery, verdict, connection.sentAt, performance.now());
    this.#free.push(connection);
    this.#endOne();
  }

  #forget(connection: Connection, owed: boolean): void {
    this.#connections.delete(connection);
    const place = this.#free.indexOf(connection);
    if (place >= 0) this.#free.splice(place, 1);
    if (!owed || this.#inFlight === 0) return;
    this.#tally.break();
    this.#endOne();
  }

  #endOne(): void {
    this.#inFlight -= 1;
    if (this.#next === this.#total && this.#inFlight === 0) this.#finish();
  }
}
