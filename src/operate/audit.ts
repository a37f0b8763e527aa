import { z } from 'zod';
import { type Instant, givenText, listOptions, parseStrictly } from '../errors/option-problems.ts';
import type { Clock } from '../kit/clock.ts';
import { dateOf } from '../kit/time.ts';
import type {
  AuditAction,
  AuditCounts,
  AuditRequest,
  AuditRow,
  AuditStore,
  Progress,
} from '../store/audit-store.ts';
import { type BulkState, bulkStateOf } from './bulk/bulk-work.ts';
import { ClockWatch } from './clock-watch.ts';

/** Who makes a change, and why; both are kept in the audit list. */
export interface Account {
  /** For example a user name. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** A change made by a person. */
export interface AuditEntry extends Omit<AuditRow, 'requestedAt' | 'finishedAt' | 'progress'> {
  readonly at: Date;
  /**
   * Undefined while it goes on, and if it failed or its process died: more may have been changed then than its counts
   * say.
   */
  readonly finishedAt: Date | undefined;
  /** The progress of a replay or dismissal; undefined for other operations. */
  readonly progress: AuditProgress | undefined;
}

/** The progress of a replay or dismissal. */
export interface AuditProgress {
  readonly state: BulkState;
  /** How far it has come, from 0 to 1: through the events from the first that matched to the last of its beginning. */
  readonly share: number;
  /** How many runs of each handler it has requeued or dismissed. */
  readonly handlers: Readonly<Record<string, number>>;
}

/** Which part of the audit list to return. */
export interface AuditQuery {
  /** Only operations at or after this time. */
  readonly since?: Instant | undefined;
  /** Only operations before this time. */
  readonly until?: Instant | undefined;
  /** How many entries per page, at most 1,000. @default 100 */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
}

/** A page of the audit list. */
export interface AuditEntries {
  readonly entries: readonly AuditEntry[];
  readonly cursor: string | undefined;
}

interface AuditParts {
  readonly store: AuditStore;
  readonly clock: Clock;
  /** Called when something has been done, has failed, or has begun and takes longer. */
  readonly onRecorded: () => void;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

/** What is about to be done, to what, by whom and why. */
interface Change extends Account {
  readonly action: AuditAction;
  readonly what: string;
}

/** The result of a change, and the counts that it hasn't written yet. */
interface Changed<Result> {
  readonly result: Result;
  readonly counts?: Partial<AuditCounts>;
}

/** The options of every change. */
export const accountSchema = z.strictObject({ by: givenText.optional(), reason: givenText.optional() });
export const auditQuerySchema = z.strictObject(listOptions);

/**
 * For how long the same look by the same person is one look, in milliseconds: a page that is open asks again and
 * again.
 */
const sameLook = 3_600_000;
/** How many looks are remembered for this. */
const maxLooks = 1_000;

/** The audit list: changes made by people, with who, when, what, why, and how much was changed. */
export class Audit {
  readonly #parts: AuditParts;
  readonly #clockWatch: ClockWatch;
  /** When each person last looked at each thing. */
  readonly #looks = new Map<string, number>();

  /** @internal */
  constructor(parts: AuditParts) {
    this.#parts = parts;
    this.#clockWatch = new ClockWatch(parts.clock);
  }

  /**
   * The entries, latest first. `cursor` is for the next page, and undefined on the last.
   *
   * @throws ConfigError for an invalid query; RingbackError `receiver_not_started`
   * @example const { entries } = await receiver.audit.list({ since: '2026-03-01' });
   */
  async list(query: AuditQuery = {}): Promise<AuditEntries> {
    this.#parts.requireStarted('audit.list()');
    const filter = parseStrictly(auditQuerySchema, query, 'audit.list', 'query');
    const { entries, cursor } = await this.#parts.store.list(filter);
    return { entries: entries.map(entryOf), cursor };
  }

  /**
   * The replays and dismissals in progress, latest first. `events.stop` ends one.
   *
   * @throws RingbackError `receiver_not_started`
   * @example for (const { id, progress } of await receiver.audit.running()) console.log(id, progress?.share);
   */
  async running(): Promise<readonly AuditEntry[]> {
    this.#parts.requireStarted('audit.running()');
    return (await this.#parts.store.running()).map(entryOf);
  }

  /** @internal What an entry says was done; undefined if there is no such entry. */
  async actionOf(id: number): Promise<AuditAction | undefined> {
    return (await this.#parts.store.get(id))?.action;
  }

  /** @internal Writes the entry of an action that goes on. Resolves to its id. */
  async begin(request: Omit<AuditRequest, 'now' | 'mayRemove'>): Promise<number> {
    const id = await this.#write(request);
    this.#parts.onRecorded();
    return id;
  }

  /**
   * Does something, with an entry that is written before, so that nothing goes unrecorded. It is given the
   * entry's id.
   *
   * @internal
   */
  async record<Result>(change: Change, act: (id: number) => Promise<Changed<Result>>): Promise<Result> {
    const { store, clock, onRecorded } = this.#parts;
    const { action, what, by, reason } = change;
    const id = await this.#write({ action, what, by, reason });
    try {
      const { result, counts } = await act(id);
      await store.end(id, clock.now(), { events: 0, runs: 0, ...counts });
      return result;
    } finally {
      onRecorded();
    }
  }

  /**
   * Records that somebody is about to see a body.
   *
   * @internal
   */
  async recordLook(what: string, by: string | undefined): Promise<void> {
    const look = JSON.stringify([by, what]);
    const now = this.#parts.clock.elapsed();
    const last = this.#looks.get(look);
    if (last !== undefined && now - last < sameLook) return;
    await this.record({ action: 'look', what, by }, async () => ({ result: undefined }));
    if (this.#looks.size >= maxLooks) this.#looks.clear();
    this.#looks.set(look, now);
  }

  async #write(request: Omit<AuditRequest, 'now' | 'mayRemove'>): Promise<number> {
    const { store, clock } = this.#parts;
    return store.begin({ ...request, now: clock.now(), mayRemove: this.#clockWatch.isTrusted() });
  }
}

function entryOf(entry: AuditRow): AuditEntry {
  const { requestedAt, finishedAt, progress, ...row } = entry;
  return {
    ...row,
    at: new Date(requestedAt),
    finishedAt: dateOf(finishedAt),
    progress: progress && progressOf(progress, bulkStateOf(entry) ?? 'running'),
  };
}

function progressOf({ begunAfter, reached, upTo, handlers }: Progress, state: BulkState): AuditProgress {
  const isThrough = state === 'done' || upTo <= begunAfter;
  return { state, share: isThrough ? 1 : (reached - begunAfter) / (upTo - begunAfter), handlers };
}
