import { type Logger, pino } from 'pino';
import type { LogEvent } from './public.ts';

/** One line of the log. */
export type Line = Readonly<Record<string, unknown>> & { readonly event?: LogEvent };

/** Keeps what a receiver logs, and lets a test wait for it. */
export class Logs {
  readonly lines: Line[] = [];
  readonly logger: Logger;
  /** The same lines by event: a test may wait for thousands, and look at them after each. */
  readonly #byEvent = new Map<LogEvent | undefined, Line[]>();
  readonly #watchers: (() => void)[] = [];

  constructor() {
    const write = (text: string) => {
      const line = JSON.parse(text) as Line;
      this.lines.push(line);
      this.#linesOf(line.event).push(line);
      for (const watcher of this.#watchers.splice(0)) watcher();
    };
    this.logger = pino({ level: 'trace', base: null }, { write });
  }

  /** The lines of one event. */
  of(event: LogEvent): readonly Line[] {
    return [...this.#linesOf(event)];
  }

  /** Resolves to the lines of one event once there are at least `count`. */
  async until(event: LogEvent, count = 1): Promise<readonly Line[]> {
    while (this.#linesOf(event).length < count) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
    return this.of(event);
  }

  #linesOf(event: LogEvent | undefined): Line[] {
    const lines = this.#byEvent.get(event) ?? [];
    this.#byEvent.set(event, lines);
    return lines;
  }
}
