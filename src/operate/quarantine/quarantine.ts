import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { ringbackError } from '../../errors/errors.ts';
import { type Unreadable, unreadables } from '../../events/decoding.ts';
import type { Headers } from '../../events/model.ts';
import { type Instant, listOptions, parseStrictly } from '../../errors/option-problems.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { QuarantineEntry, QuarantineKind } from '../../store/quarantine-store.ts';
import { type SignatureReason, signatureReasons } from '../../signature/verify.ts';
import { type Attempt, Release, type ReleaseParts, type Released } from './release.ts';
import { type SignatureCheck, SignatureChecks } from './signature-check.ts';
import { type Account, type Audit, accountSchema } from '../audit.ts';
import { SchemeChange } from './scheme-change.ts';

/** A delivery in quarantine, without its body and headers: see `quarantine.get`. */
export interface QuarantinedDelivery extends Omit<QuarantineEntry, 'receivedAt'> {
  readonly receivedAt: Date;
}

/**
 * A delivery in quarantine with its raw bytes and stored headers, as its sender wrote them: personal data. If the
 * delivery is cut, `body` holds only its beginning.
 */
export interface WholeQuarantinedDelivery extends QuarantinedDelivery {
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Why a delivery is in quarantine: it is not authentic, or its bytes can't be read. */
export type QuarantineReason = SignatureReason | Unreadable;

/** Which deliveries to list; all given conditions must hold. */
export interface QuarantineQuery {
  readonly kind?: QuarantineKind | undefined;
  readonly reason?: QuarantineReason | undefined;
  /** The trace id in the header, or a part of it. */
  readonly traceId?: string | undefined;
  /** Only deliveries that arrived at or after this time. */
  readonly since?: Instant | undefined;
  /** Only deliveries that arrived before this time. */
  readonly until?: Instant | undefined;
  /** How many deliveries per page, at most 1,000. @default 100 */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
}

/** Options of `quarantine.reverify`. */
export interface ReverifyOptions extends Account {
  /** Releases nothing, and returns what would be released. @default false */
  readonly dryRun?: boolean | undefined;
}

/** How many deliveries `reverify` has checked, with the outcomes. */
export interface Reverified {
  readonly checked: number;
  /** Verified and stored as events, whose handlers now run. */
  readonly released: number;
  /** Verified, and copies of stored events. */
  readonly duplicates: number;
  /** Verified but unreadable: they stay in quarantine as `unreadable`. */
  readonly unreadable: number;
  /** Not checked, because only the beginning of the body is stored. */
  readonly cut: number;
  /** Still not authentic, including those that were not checked, and those that arrived during the check. */
  readonly remaining: number;
}

interface QuarantineParts extends ReleaseParts {
  /** Shows whether an event has arrived after a delivery in quarantine. */
  readonly events: Pick<EventStore, 'list'>;
  readonly audit: Audit;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

export const quarantineReasons = [...signatureReasons, ...unreadables] as const;

/** Selects deliveries, and a page of them. */
export const quarantineQuerySchema = z.strictObject({
  ...listOptions,
  kind: z.enum(['not_authentic', 'unreadable'], "'not_authentic' or 'unreadable'").optional(),
  reason: z.enum(quarantineReasons, `one of ${quarantineReasons.join(', ')}`).optional(),
  traceId: z.string('a trace id').optional(),
});
const reverifyOptionsSchema = accountSchema.extend({ dryRun: z.boolean('true or false').default(false) });
const idSchema = z.strictObject({ id: z.int('the id of a delivery in quarantine') });

/**
 * Deliveries that were stored but not handled: not authentic, or authentic but unreadable. Every delivery that was not
 * authentic is verified before it is released, so this is no way around the signature check.
 */
export class Quarantine {
  readonly #parts: QuarantineParts;
  readonly #release: Release;
  readonly #schemeChange: SchemeChange;
  readonly #signatures: SignatureChecks;

  /** @internal */
  constructor(parts: QuarantineParts) {
    this.#parts = parts;
    this.#release = new Release(parts);
    this.#schemeChange = new SchemeChange({ ...parts, release: this.#release });
    this.#signatures = new SignatureChecks(parts);
  }

  /**
   * Lists deliveries in quarantine without their bodies, latest first. `cursor` leads to the next page and is undefined
   * on the last one.
   *
   * @throws ConfigError for an invalid filter; RingbackError when the receiver isn't running
   * @example const { deliveries, cursor } = await receiver.quarantine.list({ kind: 'unreadable' });
   */
  async list(query: QuarantineQuery = {}): Promise<{
    readonly deliveries: readonly QuarantinedDelivery[];
    readonly cursor: string | undefined;
  }> {
    this.#parts.requireStarted('quarantine.list()');
    const page = await this.#parts.store.list(
      parseStrictly(quarantineQuerySchema, query, 'quarantine.list', 'query'),
    );
    return { deliveries: page.deliveries.map(withDate), cursor: page.cursor };
  }

  /**
   * Reads one delivery with its headers and raw bytes. Resolves to undefined if it isn't in quarantine (any more).
   *
   * @throws ConfigError for an invalid id; RingbackError `receiver_not_started`
   * @example const delivery = await receiver.quarantine.get(7); // delivery?.reason, delivery?.body
   */
  async get(id: number): Promise<WholeQuarantinedDelivery | undefined> {
    this.#parts.requireStarted('quarantine.get()');
    const kept = await this.#parts.store.get(checkedId(id, 'quarantine.get'));
    return kept && withDate(kept);
  }

  /**
   * Says in which scheme a delivery verifies with the current secrets, as of its arrival, and what to do. It changes
   * nothing. Resolves to undefined if the delivery isn't in quarantine.
   *
   * @throws ConfigError for an invalid id; RingbackError `receiver_not_started`
   * @example (await receiver.quarantine.checkSignature(7))?.status // 'verifies': it can be released
   */
  async checkSignature(id: number): Promise<SignatureCheck | undefined> {
    this.#parts.requireStarted('quarantine.checkSignature()');
    return this.#signatures.check(checkedId(id, 'quarantine.checkSignature'));
  }

  /**
   * Checks a delivery again and stores it as an event with its original time of arrival. One that was not authentic is
   * verified with the current secrets and schemes, as of its arrival; an unreadable one is decoded again.
   *
   * @throws RingbackError `release_not_authentic`, `release_unreadable`, `quarantine_cut`, `quarantine_unknown`,
   * `receiver_not_started`; ConfigError for an invalid id or option. Nothing is released then
   * @example await receiver.quarantine.release(7) // { status: 'accepted', traceId: '…' }
   */
  async release(id: number, options: Account = {}): Promise<Released> {
    this.#parts.requireStarted('quarantine.release()');
    const what = deliveryOf(checkedId(id, 'quarantine.release'));
    const account = parseStrictly(accountSchema, options, 'quarantine.release');
    const released = await this.#parts.audit.record({ ...account, action: 'release', what }, async () => {
      const result = await this.#released(id);
      return { result, counts: { events: result ? 1 : 0 } };
    });
    // Thrown only after the audit entry has ended: finding nothing to release is a result, as for a discard, not a
    // failure.
    if (!released) throw ringbackError('quarantine_unknown', { id });
    return released;
  }

  /** Undefined when there is no such delivery. */
  async #released(id: number): Promise<Released | undefined> {
    const attempt = await this.#release.attempt(id);
    if (attempt.status === 'unknown') return undefined;
    if (attempt.status === 'cut') throw ringbackError('quarantine_cut', { id, ...attempt });
    if (attempt.status === 'not_authentic') throw ringbackError('release_not_authentic', { id, ...attempt });
    if (attempt.status === 'unreadable') throw ringbackError('release_unreadable', { id, ...attempt });
    return attempt;
  }

  /**
   * Removes a delivery permanently. Resolves to whether it was there.
   *
   * @throws ConfigError for an invalid id or option; RingbackError `receiver_not_started`
   * @example await receiver.quarantine.discard(7) // true
   */
  async discard(id: number, options: Account = {}): Promise<boolean> {
    const { store, audit, requireStarted } = this.#parts;
    requireStarted('quarantine.discard()');
    const what = deliveryOf(checkedId(id, 'quarantine.discard'));
    const account = parseStrictly(accountSchema, options, 'quarantine.discard');
    return audit.record({ ...account, action: 'discard', what }, async () => {
      const discarded = await store.discard(id);
      return { result: discarded, counts: { events: discarded ? 1 : 0 } };
    });
  }

  /**
   * Checks every delivery that was not authentic again, oldest first, and releases those that verify. Call it after
   * correcting a wrong or rotated secret. Cut deliveries are skipped. It checks one delivery at a time, so that new
   * ones are answered meanwhile.
   *
   * If the platform turns out to sign in another scheme than the pinned one, the pin moves to that scheme: at least two
   * different new events must verify in it, and both must have arrived after the last event that was accepted. A scheme
   * set with the option `signature` never changes.
   *
   * With `dryRun`, nothing is changed, and the result shows what would be released in the accepted schemes, copies
   * included.
   *
   * @throws ConfigError for an invalid option; RingbackError `receiver_not_started`, also when the receiver is stopped
   * meanwhile
   * @example await receiver.quarantine.reverify() // { checked: 12, released: 11, duplicates: 0, … }
   */
  async reverify(options: ReverifyOptions = {}): Promise<Reverified> {
    const { telemetry, audit, requireStarted } = this.#parts;
    requireStarted('quarantine.reverify()');
    const { dryRun, ...account } = parseStrictly(reverifyOptionsSchema, options, 'quarantine.reverify');
    if (dryRun) return this.previewReverify();
    return audit.record({ ...account, action: 'reverify', what: 'quarantine' }, async () => {
      const reverified = await this.#reverified();
      telemetry.report('quarantine_reverified', reverified);
      return { result: reverified, counts: { events: reverified.released } };
    });
  }

  /** @internal A dry run of `reverify`, which ends by the signal, with its reason. */
  async previewReverify(signal?: AbortSignal): Promise<Reverified> {
    const counts = countsOf(await this.#statuses((id) => this.#release.preview(id), signal));
    return { ...counts, remaining: counts.checked - counts.released - counts.unreadable + counts.cut };
  }

  /** Goes through all deliveries that were not authentic, oldest first. */
  async #statuses(
    statusOf: (id: number) => Promise<Attempt['status']>,
    signal?: AbortSignal,
  ): Promise<Map<number, Attempt['status']>> {
    const statuses = new Map<number, Attempt['status']>();
    for (const id of await this.#parts.store.unauthenticated()) {
      this.#parts.requireStarted('quarantine.reverify()');
      signal?.throwIfAborted();
      statuses.set(id, await statusOf(id));
      // Verifying a large body in every scheme takes a while; new deliveries are received in between.
      await setImmediate();
    }
    return statuses;
  }

  async #reverified(): Promise<Reverified & Record<string, number>> {
    const { store, requireStarted } = this.#parts;
    const statuses = await this.#statuses(async (id) => (await this.#release.attempt(id)).status);
    // This may include deliveries that have arrived since.
    for (const [id, { status }] of await this.#schemeChange.heal()) statuses.set(id, status);
    requireStarted('quarantine.reverify()');
    return { ...countsOf(statuses), remaining: (await store.unauthenticated()).length };
  }
}

function countsOf(statuses: ReadonlyMap<number, Attempt['status']>) {
  const count = { accepted: 0, duplicate: 0, unreadable: 0, not_authentic: 0, cut: 0, unknown: 0 };
  for (const status of statuses.values()) count[status] += 1;
  const { accepted: released, duplicate: duplicates, unreadable, cut, not_authentic: refused } = count;
  return { checked: released + duplicates + unreadable + refused, released, duplicates, unreadable, cut };
}

/** How the audit list names a delivery. */
export function deliveryOf(id: number): string {
  return `delivery ${id}`;
}

function checkedId(id: number, where: string): number {
  return parseStrictly(idSchema, { id }, where).id;
}

function withDate<Entry extends { readonly receivedAt: number }>({ receivedAt, ...entry }: Entry) {
  return { ...entry, receivedAt: new Date(receivedAt) };
}
