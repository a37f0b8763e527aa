import { type Socket, createConnection } from 'node:net';
import type { AnswerReader, Verdict } from './answer.ts';

/** One receive buffer for all connections: the bytes of one are handled before the next is read. */
const received = Buffer.allocUnsafeSlow(64 * 1024);

/** What a connection reports. */
export interface ConnectionEvents {
  readonly onAnswer: (connection: Connection, verdict: Verdict) => void;
  /** The connection has closed; `owed` says whether an answer was still to come. */
  readonly onGone: (connection: Connection, owed: boolean) => void;
}

/** One keep-alive connection with at most one delivery in flight. */
export class Connection {
  /** Which delivery is in flight, and since when. Set and read by the load. */
  delivery = -1;
  sentAt = 0;
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  readonly #events: ConnectionEvents;
  #part: Buffer | undefined;
  #isOwed = false;

  constructor(port: number, reader: AnswerReader, events: ConnectionEvents) {
    this.#reader = reader;
    this.#events = events;
    const onread = { buffer: received, callback: (length: number) => this.#take(length) };
    this.#socket = createConnection({ port, host: '127.0.0.1', noDelay: true, onread });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => events.onGone(this, this.#isOwed));
  }

  send(delivery: Buffer): void {
    this.#isOwed = true;
    this.#socket.write(delivery);
  }

  end(): void {
    this.#socket.end();
  }

  /** Ends the connection even if an answer is still to come. */
  cut(): void {
    this.#socket.destroy();
  }

  #take(length: number): boolean {
    const ordinary = this.#part === undefined ? this.#reader.ordinary(received, length) : undefined;
    const verdict = ordinary ?? this.#lookAt(Buffer.from(received.subarray(0, length)));
    if (verdict !== undefined) {
      this.#isOwed = false;
      this.#events.onAnswer(this, verdict);
    }
    return true;
  }

  #lookAt(bytes: Buffer): Verdict | undefined {
    const whole = this.#part === undefined ? bytes : Buffer.concat([this.#part, bytes]);
    const verdict = this.#reader.whole(whole);
    this.#part = verdict === undefined ? whole : undefined;
    return verdict;
  }
}
