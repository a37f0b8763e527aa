import type { Verdict } from './answer.ts';
import type { Deliveries } from './deliveries.ts';
import type { LoadReport } from './order.ts';

/** Counts answers and how long each took. */
export class Tally {
  readonly #latencies: Float64Array;
  readonly #deliveries: Deliveries;
  readonly #tellsIds: boolean;
  readonly #acceptedIds: string[] = [];
  readonly #putOffIds: string[] = [];
  readonly #startedAt = performance.now();
  readonly #cpuBefore = process.cpuUsage();
  #answered = 0;
  #accepted = 0;
  #putOff = 0;
  #broken = 0;
  #lastAt = this.#startedAt;

  constructor(deliveries: Deliveries, tellsIds: boolean) {
    this.#deliveries = deliveries;
    this.#latencies = new Float64Array(deliveries.count);
    this.#tellsIds = tellsIds;
  }

  answer(delivery: number, verdict: Verdict, sentAt: number, now: number): void {
    this.#latencies[this.#answered] = now - sentAt;
    this.#answered += 1;
    this.#lastAt = now;
    if (verdict === 'accepted') {
      this.#accepted += 1;
      if (this.#tellsIds) this.#acceptedIds.push(this.#deliveries.traceIdOf(delivery));
    } else if (verdict === 'put off') {
      this.#putOff += 1;
      if (this.#tellsIds) this.#putOffIds.push(this.#deliveries.traceIdOf(delivery));
    }
  }

  break(): void {
    this.#broken += 1;
  }

  report(ranOut: boolean): LoadReport {
    const seconds = (this.#lastAt - this.#startedAt) / 1_000;
    const clock = Number(process.hrtime.bigint()) / 1e6 - performance.now();
    const { user, system } = process.cpuUsage(this.#cpuBefore);
    const sorted = this.#latencies.subarray(0, this.#answered).sort();
    const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
    return {
      answered: this.#answered,
      accepted: this.#accepted,
      putOff: this.#putOff,
      broken: this.#broken,
      ranOut,
      rate: this.#answered / seconds,
      startedAt: clock + this.#startedAt,
      endedAt: clock + this.#lastAt,
      p50: at(0.5),
      p99: at(0.99),
      longest: at(1),
      cpu: (user + system) / 1e6 / seconds,
      acceptedIds: this.#acceptedIds,
      putOffIds: this.#putOffIds,
    };
  }
}
