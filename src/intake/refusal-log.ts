import type { Clock } from '../kit/clock.ts';
import type { RefusalCode } from '../errors/refusals.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** How many refusals for one reason get a line of their own in a period. */
const maxLines = 5;
/** In milliseconds. */
const periodLength = 1_000;

/** A refused delivery. */
interface Refused {
  readonly code: RefusalCode;
  readonly reason: string;
  readonly quarantineId: number | undefined;
}

/** The refusals for one reason in a period, which begins with the first of them. */
interface Period {
  readonly code: RefusalCode;
  lines: number;
  /** How many have no line of their own. */
  count: number;
  readonly cancel: () => void;
}

/**
 * Logs refusals. Anybody can cause thousands of them a second, and a line for each would fill the disk and hide other
 * lines. So after the first few for a reason, one line a second counts the rest. Metrics still get each of them, from
 * the diagnostics channel.
 */
export class RefusalLog {
  readonly #telemetry: Telemetry;
  readonly #clock: Clock;
  /** By reason. Reasons are a fixed set, so senders can't make this grow. */
  readonly #periods = new Map<string, Period>();

  constructor(telemetry: Telemetry, clock: Clock) {
    this.#telemetry = telemetry;
    this.#clock = clock;
  }

  refused(refused: Refused): void {
    const period = this.#periods.get(refused.reason) ?? this.#begin(refused);
    this.#telemetry.publish('delivery_refused', { ...refused });
    if (period.lines === maxLines) {
      period.count += 1;
      return;
    }
    period.lines += 1;
    this.#telemetry.log('delivery_refused', { ...refused });
  }

  /** Logs the pending counts. */
  flush(): void {
    for (const reason of this.#periods.keys()) this.#end(reason);
  }

  #begin({ code, reason }: Refused): Period {
    const cancel = this.#clock.after(periodLength, () => this.#end(reason));
    const begun = { code, lines: 0, count: 0, cancel };
    this.#periods.set(reason, begun);
    return begun;
  }

  #end(reason: string): void {
    const ended = this.#periods.get(reason);
    if (!ended) return;
    this.#periods.delete(reason);
    const { code, count, cancel } = ended;
    cancel();
    if (count > 0) this.#telemetry.log('delivery_refused', { code, reason, count });
  }
}
