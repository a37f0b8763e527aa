import { z } from 'zod';
import { readBytes } from '../events/read-event.ts';
import { type Instant, listOptions, parseStrictly, searchOptionsSchema } from '../errors/option-problems.ts';
import type { FailureStore } from '../store/failure-store.ts';
import type { EventFilter as KeptEventFilter, KeptEventWithBytes } from '../store/event-store.ts';
import type { AuditStore } from '../store/audit-store.ts';
import type { Clock } from '../kit/clock.ts';
import { type Account, type Audit, accountSchema } from './audit.ts';
import { BulkActions } from './bulk/bulk-actions.ts';
import type { BulkResult } from './bulk/bulk-work.ts';
import { keptTerms, keptWork } from './bulk/kept-work.ts';
import { type EventSignature, EventSignatures } from './event-signature.ts';
import {
  type InboxEvent,
  type WholeInboxEvent,
  failedAttempt,
  inboxEvent,
  storedRun,
} from './inbox-event.ts';
import {
  type DismissOptions,
  dismissOptionsSchema,
  dismissalWork,
  requireDismissible,
} from './bulk/dismissal.ts';
import type { Authenticator } from './quarantine/release.ts';
import {
  type ReplayOptions,
  type ReplayParts,
  bulkFilter,
  eventFilterSchema,
  replayOptionsSchema,
  replayWork,
  requireReplayable,
} from './bulk/replay.ts';

/** Which events to select; all given conditions must hold. */
export interface EventFilter extends Omit<KeptEventFilter, 'since' | 'until'> {
  /** Only events that arrived at or after this time. */
  readonly since?: Instant | undefined;
  /** Only events that arrived before this time. */
  readonly until?: Instant | undefined;
}

/** Selects events, and a page of them. */
export interface EventQuery extends EventFilter {
  /** How many events per page, at most 1,000. @default 100 */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
}

interface InboxEventsParts extends ReplayParts {
  readonly entries: AuditStore;
  readonly failures: Pick<FailureStore, 'named'>;
  readonly audit: Audit;
  readonly authenticator: Pick<Authenticator, 'findScheme'>;
  readonly clock: Clock;
  /** The names of the handlers that the processes of the inbox have which aren't known to be dead. */
  readonly livingHandlers: () => Promise<readonly string[]>;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

/** A started replay or dismissal, or a dry run of one. */
export interface BegunBulkAction {
  /** Undefined for a dry run. */
  readonly id: number | undefined;
  readonly ended: Promise<BulkResult>;
}

const querySchema = eventFilterSchema.extend(listOptions);
const traceIdSchema = z.strictObject({ traceId: z.string('text') });
const idSchema = z.strictObject({ id: z.int('the id of an entry in the audit list') });

/** The events of the inbox: list, get and replay them, and dismiss their runs. */
export class InboxEvents {
  readonly #parts: InboxEventsParts;
  readonly #signatures: EventSignatures;
  /** @internal */
  readonly bulk: BulkActions;

  /** @internal */
  constructor(parts: InboxEventsParts) {
    this.#parts = parts;
    this.#signatures = new EventSignatures(parts.authenticator);
    this.bulk = new BulkActions({ ...parts, workOf: (entry) => keptWork(parts, entry) });
  }

  /**
   * Reads one event with its body, headers and stored runs. Resolves to undefined if there is no event with this trace
   * id.
   *
   * @throws ConfigError when the trace id is not text; RingbackError when the receiver isn't running
   * @example (await receiver.events.get('4c1d…'))?.state // 'new' | 'open' | 'done'
   */
  async get(traceId: string): Promise<WholeInboxEvent | undefined> {
    const kept = await this.#kept(traceId, 'events.get');
    if (!kept) return undefined;
    const decoded = await this.#parts.decoder.decode(kept.body);
    const runs = kept.runs.map((run) => ({ ...storedRun(run), failures: run.failures.map(failedAttempt) }));
    const { headers, body: raw } = kept;
    return { ...inboxEvent(kept), runs, headers, body: decoded.ok ? decoded.value : {}, raw };
  }

  /**
   * Says what the signature of an event proves: which parts of its delivery a current secret signed, and in which scheme.
   * Resolves to undefined if there is no event with this trace id.
   *
   * @throws ConfigError when the trace id is not text; RingbackError when the receiver isn't running
   * @example (await receiver.events.checkSignature('4c1d…'))?.status // 'verifies'
   */
  async checkSignature(traceId: string): Promise<EventSignature | undefined> {
    return this.#signatures.check(() => this.#kept(traceId, 'events.checkSignature'));
  }

  async #kept(traceId: string, method: string): Promise<KeptEventWithBytes | undefined> {
    this.#parts.requireStarted(`${method}()`);
    return this.#parts.store.get(parseStrictly(traceIdSchema, { traceId }, method).traceId);
  }

  /**
   * The names of the handlers that run as soon as the event is claimed: all matching handlers except joins, which wait
   * for their other events or for a timeout.
   *
   * @internal
   */
  async matchingHandlers(traceId: string): Promise<readonly string[]> {
    const kept = await this.#parts.store.get(traceId);
    const reading = kept && (await readBytes(this.#parts.decoder, kept));
    if (!reading?.ok) return [];
    const matching = this.#parts.route(reading.event).filter(({ join }) => join === undefined);
    return matching.map(({ name }) => name);
  }

  /**
   * Events without their bodies, latest first. `cursor` is for the next page, and undefined on the last. Aborting
   * `signal` cancels the search, which rejects with the signal's reason.
   *
   * @throws ConfigError for an invalid filter or options; RingbackError when the receiver isn't running
   * @example const { events } = await receiver.events.list({ state: 'dead', handler: 'crm-sync' });
   */
  async list(
    query: EventQuery = {},
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<{
    readonly events: readonly InboxEvent[];
    readonly cursor: string | undefined;
  }> {
    this.#parts.requireStarted('events.list()');
    const { limit, cursor, ...filter } = parseStrictly(querySchema, query, 'events.list', 'query');
    const { signal } = parseStrictly(searchOptionsSchema, options, 'events.list');
    const page = await this.#parts.store.list(filter, { limit, cursor, signal });
    return { events: page.events.map(inboxEvent), cursor: page.cursor };
  }

  /**
   * Runs events again, in order of arrival: each goes to the handlers that match it now. Open runs are left alone,
   * and with `state: 'dead'` only dead letters are run. Each run has the replay in `ctx.replay`, and keeps the order
   * of its call. The entry in the audit list has the progress: if this process ends, the replay continues in another,
   * or when this one starts again; `stop` ends it. Resolves when all runs have been requeued. With `dryRun`, nothing
   * is written, and the result shows what would be run.
   *
   * @throws ConfigError for an invalid filter or one without a condition, and for a handler that isn't registered;
   * RingbackError when the receiver isn't running
   * @example await receiver.events.replay({ state: 'dead', handler: 'crm-sync' }, { reason: 'the CRM is back' });
   */
  async replay(filter: EventFilter, options: ReplayOptions = {}): Promise<BulkResult> {
    return (await this.beginReplay(filter, options)).ended;
  }

  /** @internal Resolves as soon as the replay has an id. `signal` ends a dry run. */
  async beginReplay(
    filter: EventFilter,
    options: ReplayOptions,
    signal?: AbortSignal,
  ): Promise<BegunBulkAction> {
    this.#parts.requireStarted('events.replay()');
    const given = parseStrictly(eventFilterSchema, filter, 'events.replay', 'filter');
    const { dryRun, by, reason, ...terms } = parseStrictly(replayOptionsSchema, options, 'events.replay');
    const which = await bulkFilter(this.#parts.failures, given, terms);
    requireReplayable(which, terms, this.#parts.handlerNames());
    const work = replayWork(this.#parts, which, terms);
    if (dryRun) return { id: undefined, ended: this.bulk.preview(work, signal) };
    return this.bulk.begin({ action: 'replay', what: keptTerms(which, terms), by, reason }, work);
  }

  /**
   * Settles runs that should not be run as done, with `dismissed by …: …` as their reason. With `state: 'dead'` it
   * dismisses dead letters, and with `failure`, but neither `state`, `handler` nor the option `only`, those of that
   * group. With other filters, a handler must be named that is registered neither here nor, unless the filter has a
   * `traceId`, in another living process: its dead letters and its due and blocked runs are dismissed, with
   * `state: 'open'` only the latter.
   * Active runs are left alone. Runs that a dismissed run blocked (order `strict`) continue. Like a replay, it survives
   * restarts and can be stopped. With `dryRun`, nothing is written, and the result shows what would be dismissed.
   *
   * @throws ConfigError for an invalid filter or one without a condition, without a reason, and for open runs of a
   * handler that is not named or is registered; RingbackError when the receiver isn't running
   * @example
   * await receiver.events.dismiss({ state: 'dead', handler: 'crm-sync' }, { by: 'ann', reason: 'done by hand' });
   */
  async dismiss(filter: EventFilter, options: DismissOptions): Promise<BulkResult> {
    return (await this.beginDismissal(filter, options)).ended;
  }

  /** @internal Resolves as soon as the dismissal has an id. `signal` ends a dry run. */
  async beginDismissal(
    filter: EventFilter,
    options: DismissOptions,
    signal?: AbortSignal,
  ): Promise<BegunBulkAction> {
    this.#parts.requireStarted('events.dismiss()');
    const given = parseStrictly(eventFilterSchema, filter, 'events.dismiss', 'filter');
    const { dryRun, ...terms } = parseStrictly(dismissOptionsSchema, options, 'events.dismiss');
    const which = await bulkFilter(this.#parts.failures, given, terms);
    const { handlerNames, livingHandlers } = this.#parts;
    await requireDismissible(which, terms, { here: handlerNames(), alive: livingHandlers });
    const work = dismissalWork(this.#parts, which, terms);
    if (dryRun) return { id: undefined, ended: this.bulk.preview(work, signal) };
    const { by, reason } = terms;
    return this.bulk.begin({ action: 'dismiss', what: keptTerms(which, terms), by, reason }, work);
  }

  /**
   * Stops a replay or a dismissal in progress, by its id in the audit list. Runs already requeued or dismissed stay
   * so. Resolves to whether it was in progress.
   *
   * @throws ConfigError when the id is not a number; RingbackError when the receiver isn't running
   * @example await receiver.events.stop(12, { by: 'ann', reason: 'the CRM is down again' });
   */
  async stop(id: number, options: Account = {}): Promise<boolean> {
    this.#parts.requireStarted('events.stop()');
    parseStrictly(idSchema, { id }, 'events.stop');
    const account = parseStrictly(accountSchema, options, 'events.stop');
    const action = (await this.#parts.entries.get(id))?.action;
    // Nothing of that id can be stopped, so nothing is recorded.
    if (action !== 'replay' && action !== 'dismiss') return false;
    const what = `${action === 'replay' ? 'replay' : 'dismissal'} ${id}`;
    return this.#parts.audit.record({ ...account, action: 'stop', what }, async () => ({
      result: await this.bulk.stop(id),
    }));
  }
}
