import { type Logger, pino } from 'pino';
import type { LogEvent } from './public.ts';

/** One line of the log. */
export type Line = Readonly<Record<string, unknown>> & { readonly event?: LogEvent };

/** Keeps what a receiver logs, and lets a test wait for it. */
export class Logs {
  readonly lines: Line[] = [];
  readonly logger: Logger;
  readonly #watchers: (() => void)[] = [];

  constructor() {
    const write = (text: string) => {
      this.lines.push(JSON.parse(text) as Line);
      for (const watcher of this.#watchers.splice(0)) watcher();
    };
    this.logger = pino({ level: 'trace', base: null }, { write });
  }

  /** The lines of one event. */
  of(event: LogEvent): readonly Line[] {
    return this.lines.filter((line) => line.event === event);
  }

  /** Resolves to the lines of one event once there are at least `count`. */
  async until(event: LogEvent, count = 1): Promise<readonly Line[]> {
    while (this.of(event).length < count) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
    return this.of(event);
  }
}
