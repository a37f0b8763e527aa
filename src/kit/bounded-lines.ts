import type { Clock } from './clock.ts';

/** How many lines of one kind are logged in full in a period. */
const maxLines = 5;
/** In milliseconds. */
const periodLength = 1_000;

/** The fields of a line. */
type Fields = Readonly<Record<string, string | number | undefined>>;

/** The lines of one kind in a period, which begins with the first of them. */
interface Period {
  readonly common: Fields;
  lines: number;
  /** How many have no line of their own. */
  count: number;
  readonly cancel: () => void;
}

/**
 * Bounds the lines about what anybody can cause, thousands of times a second. A line for each would fill the disk and
 * hide other lines, so after the first few of a kind, one line a second counts the rest.
 */
export class BoundedLines {
  readonly #clock: Clock;
  readonly #write: (fields: Fields) => void;
  /** By kind. Kinds are a fixed set for whoever must not make this grow. */
  readonly #periods = new Map<string, Period>();

  /** `write` must not throw. */
  constructor(clock: Clock, write: (fields: Fields) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** `common` is what all lines of a kind have in common, also the one that counts the rest. */
  add(kind: string, common: Fields, own: Fields = {}): void {
    const period = this.#periods.get(kind) ?? this.#begin(kind, common);
    if (period.lines === maxLines) {
      period.count += 1;
      return;
    }
    period.lines += 1;
    this.#write({ ...common, ...own });
  }

  /** Writes the pending counts. */
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
    if (count > 0) this.#write({ ...common, count });
  }
}
