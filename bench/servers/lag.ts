import type { RequestHandler } from 'express';
import type { Lag } from './common.ts';

const maxLags = 2_000_000;

/** Records how long after the answer an event's handler begins. Answers and handlers are matched by trace id. */
export class LagWatch {
  readonly #answeredAt = new Map<string, number>();
  /** When handlers began whose answer was not given yet: their lag is below zero. */
  readonly #begunAt = new Map<string, number>();
  readonly #lags = new Float64Array(maxLags);
  #count = 0;

  /** Mounted before the receiver, it records when the receiver ends the response. */
  readonly middleware: RequestHandler = (_request, response, next) => {
    const end = response.end.bind(response) as (...parts: unknown[]) => typeof response;
    response.end = ((...parts: unknown[]) => {
      this.#answered(traceIdOf(parts[0]));
      return end(...parts);
    }) as typeof response.end;
    next();
  };

  /** Called by the handler as its first act. */
  readonly begun = (traceId: string): void => {
    const now = performance.now();
    const answeredAt = this.#answeredAt.get(traceId);
    if (answeredAt === undefined) {
      this.#begunAt.set(traceId, now);
      return;
    }
    this.#answeredAt.delete(traceId);
    this.#note(now - answeredAt);
  };

  reset(): void {
    this.#count = 0;
    this.#answeredAt.clear();
    this.#begunAt.clear();
  }

  lag(): Lag {
    const sorted = this.#lags.slice(0, this.#count).sort();
    const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
    return { p50: at(0.5), p99: at(0.99) };
  }

  #answered(traceId: string): void {
    const now = performance.now();
    const begunAt = this.#begunAt.get(traceId);
    if (begunAt === undefined) {
      this.#answeredAt.set(traceId, now);
      return;
    }
    this.#begunAt.delete(traceId);
    this.#note(begunAt - now);
  }

  #note(lag: number): void {
    if (this.#count === maxLags) return;
    this.#lags[this.#count] = lag;
    this.#count += 1;
  }
}

/** The trace id in the body of an answer, the only place that shows which event it is for. */
function traceIdOf(body: unknown): string {
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('latin1') : String(body);
  return /"traceId":"([^"]*)"/.exec(text)?.[1] ?? '';
}
