import { setImmediate } from 'node:timers/promises';
import { proofOf } from '../../signature/proofs.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { KeptDelivery } from '../../store/quarantine-store.ts';
import type { Store } from '../../store/store.ts';
import type { Account, Audit } from '../audit.ts';
import { type Attempt, type Release, type ReleaseParts, type Verified, readKept } from './release.ts';

/** How many different new events prove that the platform signs in another scheme than the one that is pinned. */
const eventsNeeded = 2;
/** How many events are looked at in one step. */
const eventsAtOnce = 100;

/** A delivery in quarantine that is an event and verifies in a known scheme other than the pinned one. */
interface Candidate {
  readonly id: number;
  readonly receivedAt: number;
  readonly verified: Verified;
  readonly proof: string;
  readonly traceId: string;
  /** The key that decides whether it is a duplicate. */
  readonly identity: string;
}

interface SchemeChangeParts extends Pick<ReleaseParts, 'store' | 'decoder' | 'authenticator' | 'schemes'> {
  readonly events: Pick<EventStore, 'list'>;
  readonly release: Release;
}

/**
 * Moves the pin to the scheme in which the platform really signs, and releases the deliveries that were refused
 * meanwhile. The pin may come from somebody's test delivery, or the platform may have changed its scheme.
 *
 * An attacker who holds old deliveries of a former scheme without a signed time could replay them to bring that scheme
 * back. So two different events that are new to the inbox are required, and both must have arrived after the last event
 * that the pinned scheme accepted: while the platform signs in the pinned scheme, nothing moves the pin.
 */
export class SchemeChange {
  readonly #parts: SchemeChangeParts;

  constructor(parts: SchemeChangeParts) {
    this.#parts = parts;
  }

  /** Resolves to the result for each delivery that it tried to release, by id; empty if the pin stays. */
  async heal(): Promise<ReadonlyMap<number, Attempt>> {
    const { schemes } = this.#parts;
    const attempts = new Map<number, Attempt>();
    if (schemes.pinned === undefined) return attempts;
    const events = new Set<string>();
    for (const candidate of await this.#proven()) {
      const { id, identity, verified } = candidate;
      const attempt = await this.#release(id);
      attempts.set(id, attempt);
      if (events.size < eventsNeeded && (await this.#isNewEvent(candidate, attempt))) {
        events.add(identity);
        if (events.size === eventsNeeded) await schemes.pinInstead(verified.scheme);
      }
      await setImmediate();
    }
    return attempts;
  }

  async #release(id: number): Promise<Attempt> {
    const { store, release } = this.#parts;
    const kept = await store.get(id);
    const other = kept && this.#otherwise(kept);
    // Once the other scheme is pinned, the delivery verifies in the usual way.
    return kept && other ? release.record(kept, other) : release.attempt(id);
  }

  /**
   * Whether the delivery was an event new to the inbox. If another process has released it at the same time, it counts
   * here too: otherwise neither process might count enough. A released event keeps its time of arrival, by which it is
   * found.
   */
  async #isNewEvent({ traceId, receivedAt }: Candidate, { status }: Attempt): Promise<boolean> {
    if (status !== 'unknown') return status === 'accepted';
    const at = { traceId, since: receivedAt, until: receivedAt + 1 };
    const { events } = await this.#parts.events.list(at, { limit: 1 });
    return events.length > 0;
  }

  /** The deliveries, oldest first, in the first other scheme for which there is enough proof. */
  async #proven(): Promise<readonly Candidate[]> {
    const byProof = Map.groupBy(await this.#candidates(), ({ proof }) => proof);
    for (const candidates of byProof.values()) {
      const since = arrivalOfEnough(candidates);
      if (since === undefined) continue;
      if (!(await this.#hasLetIn(since + 1))) return candidates;
    }
    return [];
  }

  /** Whether an event was accepted in the pinned scheme since then. Reconciled events had no signature. */
  async #hasLetIn(since: number): Promise<boolean> {
    let cursor: string | undefined;
    do {
      const page = await this.#parts.events.list({ since }, { limit: eventsAtOnce, cursor });
      if (page.events.some(({ source }) => source !== 'reconciled')) return true;
      ({ cursor } = page);
    } while (cursor !== undefined);
    return false;
  }

  async #candidates(): Promise<readonly Candidate[]> {
    const { store } = this.#parts;
    const candidates: Candidate[] = [];
    for (const id of await store.unauthenticated()) {
      const kept = await store.get(id);
      const candidate = kept && (await this.#candidateOf(id, kept));
      if (candidate) candidates.push(candidate);
      // Verifying a large body in every scheme takes a while; new deliveries are received in between.
      await setImmediate();
    }
    return candidates;
  }

  async #candidateOf(id: number, kept: KeptDelivery): Promise<Candidate | undefined> {
    const verified = this.#otherwise(kept);
    const scheme = verified?.scheme;
    if (!scheme) return undefined;
    const reading = await readKept(this.#parts.decoder, kept, scheme);
    // An attacker can cut up a delivery so that it verifies in another scheme, but what is left as its body is no
    // event.
    if (!reading.ok) return undefined;
    const { receivedAt } = kept;
    const { traceId } = reading.event;
    const { identity } = reading.record;
    return { id, receivedAt, verified, proof: proofOf(scheme), traceId, identity };
  }

  #otherwise({ body, headers, receivedAt }: KeptDelivery): Verified | undefined {
    return this.#parts.authenticator.authenticateInOtherScheme(body, headers, receivedAt);
  }
}

/** The arrival of the earliest of the latest `eventsNeeded` different events; undefined if there are fewer. */
function arrivalOfEnough(candidates: readonly Candidate[]): number | undefined {
  const identities = new Set<string>();
  for (const { identity, receivedAt } of candidates.toSorted((a, b) => b.receivedAt - a.receivedAt)) {
    identities.add(identity);
    if (identities.size === eventsNeeded) return receivedAt;
  }
  return undefined;
}

/**
 * Unpins the scheme of signatures, so that the next new event pins its own. Resolves to the scheme that was pinned;
 * undefined if there was none.
 */
export async function unpinScheme(
  { store, audit }: { readonly store: Pick<Store, 'pinnedScheme' | 'unpinScheme'>; readonly audit: Audit },
  account: Account,
): Promise<string | undefined> {
  const what = await store.pinnedScheme();
  if (what === undefined) return undefined;
  return audit.record({ ...account, action: 'unpin', what }, async () => ({
    result: await store.unpinScheme(),
  }));
}
