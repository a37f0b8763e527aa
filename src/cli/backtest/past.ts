import type { KeptEventWithBytes } from '../../store/event-store.ts';
import { resolutions, wholeReceiver } from '../../store/history-store.ts';
import type { Store } from '../../store/store.ts';

/** How a handler's run ended originally: `open` if it hasn't ended yet, `none` if no run is known. */
export const pastEndings = ['done', 'discarded', 'dead', 'open', 'none'] as const;
export type PastEnding = (typeof pastEndings)[number];

export type PastEvent = Pick<KeptEventWithBytes, 'runs' | 'state' | 'receivedAt'>;

const { length: hour } = resolutions.hour;

/**
 * What originally happened to the events of a backtest. Most done runs have left no row: whether a handler existed then
 * is known from the history, which counts its runs by the hour.
 */
export class Past {
  /** The hours in which runs of each handler were done. */
  readonly #hours: ReadonlyMap<string, ReadonlySet<number>>;
  readonly handlers: readonly string[];

  private constructor(rows: readonly { readonly at: number; readonly name: string }[]) {
    const runs = rows.flatMap(({ at, name }) => {
      const [, way, handler] = /^(done|failed):(.*)$/s.exec(name) ?? [];
      return handler === undefined ? [] : [{ at, handler, isDone: way === 'done' }];
    });
    this.handlers = [...new Set(runs.map(({ handler }) => handler))].sort();
    const done = Map.groupBy(
      runs.filter(({ isDone }) => isDone),
      ({ handler }) => handler,
    );
    this.#hours = new Map([...done].map(([handler, all]) => [handler, new Set(all.map(({ at }) => at))]));
  }

  /** Reads the history of a period; each end may be open. */
  static async read(
    store: Pick<Store, 'history'>,
    since = 0,
    until = Number.MAX_SAFE_INTEGER,
  ): Promise<Past> {
    const rows = await store.history.list('hour', hourOf(since), until, wholeReceiver, ['done:', 'failed:']);
    return new Past(rows);
  }

  /** How a handler's run ended. A join has one run for all events of the call. */
  endingOf(handler: string, events: readonly PastEvent[]): PastEnding {
    const run = events.flatMap(({ runs }) => runs).find((one) => one.handler === handler);
    // A run that succeeded has no reason; a dismissed one was given up first.
    if (run?.state === 'dead' || (run?.state === 'done' && run.reason !== undefined))
      return run.failures[0]?.cause === 'Discard' ? 'discarded' : 'dead';
    if (run) return run.state === 'done' ? 'done' : 'open';
    if (events.some(({ state }) => state === 'new')) return 'open';
    return events.some(({ receivedAt }) => this.#wasThere(handler, receivedAt)) ? 'done' : 'none';
  }

  /** Whether runs of the handler were done in the hour of the event's arrival or the next: it may have waited. */
  #wasThere(handler: string, receivedAt: number): boolean {
    const hours = this.#hours.get(handler);
    const at = hourOf(receivedAt);
    return hours !== undefined && (hours.has(at) || hours.has(at + hour));
  }
}

function hourOf(time: number): number {
  return Math.floor(time / hour) * hour;
}
