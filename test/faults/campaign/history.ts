/** The history of a campaign, as JSON lines that anyone can read and judge again. */
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** What happened. Times are milliseconds since the campaign began. */
export type Line =
  | { readonly kind: 'begun'; readonly seed: number; readonly startedAt: string }
  /** An event is delivered for the first time. */
  | {
      readonly kind: 'sent';
      readonly at: number;
      readonly traceId: string;
      readonly callId: string;
      readonly eventName: string;
    }
  /** How a delivery was answered: with a status, or with none in time. */
  | {
      readonly kind: 'answered';
      readonly at: number;
      readonly traceId: string;
      readonly status: number | undefined;
      readonly result: string | undefined;
      /** What the adversary did to it. */
      readonly disturbance?: string | undefined;
    }
  /** A receiver hasn't answered a delivery, and the next one was asked. */
  | { readonly kind: 'asked again'; readonly at: number; readonly traceId: string }
  | { readonly kind: 'fault'; readonly at: number; readonly fault: string; readonly detail?: string }
  /** A receiver ended that nobody has killed. */
  | { readonly kind: 'ended'; readonly at: number; readonly receiver: number; readonly code: number | null }
  /** At the end: an event that is in the inbox. */
  | { readonly kind: 'stored'; readonly traceId: string }
  /** At the end: a row of the user's, in the order in which they were written. */
  | { readonly kind: 'row'; readonly handler: string; readonly callId: string; readonly traceId: string }
  /** At the end: work that is not done. */
  | { readonly kind: 'undone'; readonly what: string; readonly count: number }
  | { readonly kind: 'over'; readonly at: number };

/** What is written without its time happens now. */
type Written<One> = One extends { readonly at: number } ? Omit<One, 'at'> & { readonly at?: number } : One;

/** Writes what happens to a file. */
export class History {
  readonly file: string;
  readonly #stream: WriteStream;
  readonly #begun = performance.now();

  constructor(file: string) {
    this.file = file;
    this.#stream = createWriteStream(file);
  }

  get now(): number {
    return Math.round(performance.now() - this.#begun);
  }

  write(line: Written<Line>): void {
    this.#stream.write(`${JSON.stringify({ at: this.now, ...line })}\n`);
  }

  end(): Promise<void> {
    return new Promise((resolve) => this.#stream.end(resolve));
  }
}

/** The lines of a history that was written. */
export async function* linesOf(file: string): AsyncGenerator<Line> {
  for await (const text of createInterface({ input: createReadStream(file) })) yield JSON.parse(text) as Line;
}
