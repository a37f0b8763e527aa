import type { Handler } from '../../dispatch/handler.ts';
import { type PastEnding, pastEndings } from './past.ts';
import { type Ending, type Trial, endings } from './trial.ts';

/** Runs that failed in the same way, as `ringback inbox failures` groups them. */
export interface ErrorGroup {
  readonly id: string;
  readonly ending: Ending;
  readonly cause: string;
  /** Where in the user's own files it was thrown. */
  readonly location: string | undefined;
  /** Without its variable parts. */
  readonly message: string;
  runs: number;
  /** How many of them were done originally. */
  worse: number;
  readonly traceId: string;
}

/** Rows that `ctx.commit` would have written to a table. */
export interface RowCounts {
  inserted: number;
  updated: number;
  deleted: number;
}

/** What a handler would have done, compared to what happened originally. */
export interface HandlerReport {
  readonly handler: string;
  /** How many runs there are: one for each event, or for each call if it is a join. */
  runs: number;
  readonly now: Record<Ending, number>;
  readonly past: Record<PastEnding, number>;
  /** Runs that were done originally, and fail or are discarded now. */
  worse: number;
  /** Runs that were dead letters or discarded originally, and are done now. */
  better: number;
  /** The most frequent first. */
  readonly errors: readonly ErrorGroup[];
  readonly rows: Readonly<Record<string, RowCounts>>;
}

/** How many groups of a handler are listed. More of them are usually one problem with many messages. */
const maxGroups = 200;

export class Tally {
  readonly #counts: Omit<HandlerReport, 'errors' | 'rows'>;
  readonly #groups = new Map<string, ErrorGroup>();
  readonly #rows = new Map<string, RowCounts>();

  constructor({ name: handler }: Handler) {
    const [now, past] = [zeros(endings), zeros(pastEndings)];
    this.#counts = { handler, runs: 0, now, past, worse: 0, better: 0 };
  }

  add({ ending, failure, rows }: Trial, past: PastEnding, traceId: string): void {
    const isWorse = past === 'done' && (ending === 'failed' || ending === 'discarded');
    const counts = this.#counts;
    counts.runs += 1;
    counts.now[ending] += 1;
    counts.past[past] += 1;
    if (isWorse) counts.worse += 1;
    if (ending === 'done' && (past === 'dead' || past === 'discarded')) counts.better += 1;
    for (const { table, inserted, updated, deleted } of rows) {
      const sum = this.#rows.get(table) ?? { inserted: 0, updated: 0, deleted: 0 };
      this.#rows.set(table, sum);
      sum.inserted += inserted;
      sum.updated += updated;
      sum.deleted += deleted;
    }
    if (!failure) return;
    const { group: id, cause, location, message } = failure;
    const known = this.#groups.get(id);
    if (!known && this.#groups.size >= maxGroups) return;
    const group = known ?? { id, ending, cause, location, message, runs: 0, worse: 0, traceId };
    this.#groups.set(id, group);
    group.runs += 1;
    if (isWorse) group.worse += 1;
  }

  report(): HandlerReport {
    return {
      ...this.#counts,
      errors: [...this.#groups.values()].toSorted((one, other) => other.runs - one.runs),
      rows: Object.fromEntries(this.#rows),
    };
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
