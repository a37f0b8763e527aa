import type { Clock } from '../kit/clock.ts';
import type { Fields, LogEvent, Telemetry } from './telemetry.ts';

/** How many lines of one kind are logged in full in a period. */
const maxLines = 5;
/** In milliseconds. */
const periodLength = 1_000;

/** The lines of one kind in a period, which begins with the first of them. */
interface Period {
  readonly common: Fields;
  lines: number;
  /** How many have no line of their own. */
  count: number;
  readonly cancel: () => void;
}

/**
 * Logs an event that anybody can cause, thousands of times a second. A line for each would fill the disk and hide other
 * lines, so after the first few of a kind, one line a second counts the rest. Metrics still get each of them, from the
 * diagnostics channel.
 */
export class BoundedLines {
  readonly #telemetry: Telemetry;
  readonly #clock: Clock;
  readonly #event: LogEvent;
  /** By kind. Kinds are a fixed set for those who must not make this grow, such as the senders of deliveries. */
  readonly #periods = new Map<string, Period>();

  constructor(telemetry: Telemetry, clock: Clock, event: LogEvent) {
    this.#telemetry = telemetry;
    this.#clock = clock;
    this.#event = event;
  }

  /** `common` is what all of one kind have in common: the line that counts the rest has it, too. */
  report(kind: string, common: Fields, own: Fields = {}): void {
    const period = this.#periods.get(kind) ?? this.#begin(kind, common);
    const fields = { ...common, ...own };
    this.#telemetry.publish(this.#event, fields);
    if (period.lines === maxLines) {
      period.count += 1;
      return;
    }
    period.lines += 1;
    this.#telemetry.log(this.#event, fields);
  }

  /** Logs the pending counts. */
  flush(): void {
    for (const kind of this.#periods.keys()) this.#end(kind);
  }

  #begin(kind: string, common: Fields): Period {
    const cancel = this.#clock.after(periodLength, () => this.#end(kind));
    const begun = { common, lines: 0, count: 0, cancel };
    this.#periods.set(kind, begun);
    return begun;
  }

  #end(kind: string): void {
    const ended = this.#periods.get(kind);
    if (!ended) return;
    this.#periods.delete(kind);
    const { common, count, cancel } = ended;
    cancel();
    if (count > 0) this.#telemetry.log(this.#event, { ...common, count });
  }
}
