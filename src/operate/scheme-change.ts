import { setImmediate } from 'node:timers/promises';
import { proofOf } from '../signature/proofs.ts';
import type { EventStore } from '../store/event-store.ts';
import type { KeptDelivery } from '../store/quarantine-store.ts';
import { type Attempt, type Release, type ReleaseParts, type Verified, readKept } from './release.ts';

/** How many different new events prove that the platform signs in another scheme than the one that is pinned. */
const eventsNeeded = 2;
/** How many events are looked at in one step. */
const eventsAtOnce = 100;

/** A delivery in quarantine that is an event and verifies in a known scheme, but not in the one that is pinned. */
interface Candidate {
  readonly id: number;
  readonly receivedAt: number;
  readonly verified: Verified;
  readonly proof: string;
  readonly traceId: string;
  /** The key that decides whether it is a duplicate. */
  readonly identity: string;
}

/** What finding out about another scheme works with. */
export interface SchemeChangeParts extends Pick<ReleaseParts, 'store' | 'decoder' | 'authentication'> {
  readonly events: Pick<EventStore, 'list'>;
  readonly release: Release;
}

/**
 * Moves the pin to the scheme in which the platform really signs, and releases what was refused meanwhile: the pin may
 * come from a delivery that somebody sent as a test, or the platform may have changed its scheme.
 *
 * Whoever holds old deliveries of a former scheme without a signed time could send them again to bring that scheme
 * back. So it takes two different events that are new to the inbox, and both must have arrived after the last event
 * that the pinned scheme has let in: while the platform signs in that one, nothing moves it.
 */
export class SchemeChange {
  readonly #parts: SchemeChangeParts;

  constructor(parts: SchemeChangeParts) {
    this.#parts = parts;
  }

  /** Resolves to what became of the deliveries that it released, by their ids; an empty map if the pin stays as it is. */
  async heal(): Promise<ReadonlyMap<number, Attempt>> {
    const { authentication } = this.#parts;
    const attempts = new Map<number, Attempt>();
    if (authentication.pinned === undefined) return attempts;
    const events = new Set<string>();
    for (const candidate of await this.#proven()) {
      const { id, identity, verified } = candidate;
      const attempt = await this.#release(id);
      attempts.set(id, attempt);
      if (events.size < eventsNeeded && (await this.#isNewEvent(candidate, attempt))) {
        events.add(identity);
        if (events.size === eventsNeeded) await authentication.pinInstead(verified);
      }
      await setImmediate();
    }
    return attempts;
  }

  async #release(id: number): Promise<Attempt> {
    const { store, release } = this.#parts;
    const kept = await store.get(id);
    const other = kept && this.#otherwise(kept);
    // Once the other scheme is pinned, it is no longer another one.
    return kept && other ? release.record(kept, other) : release.attempt(id);
  }

  /**
   * Whether the delivery was an event that was new to the inbox. Another process may have released it at the same time: if each
   * counted only its own, neither might count enough. What is released keeps its time of arrival.
   */
  async #isNewEvent({ traceId, receivedAt }: Candidate, { status }: Attempt): Promise<boolean> {
    if (status !== 'unknown') return status === 'accepted';
    const at = { traceId, since: receivedAt, until: receivedAt + 1 };
    const { events } = await this.#parts.events.list(at, { limit: 1, before: undefined });
    return events.length > 0;
  }

  /** The deliveries, oldest first, of the first other scheme for which there is enough proof. */
  async #proven(): Promise<readonly Candidate[]> {
    const byProof = Map.groupBy(await this.#candidates(), ({ proof }) => proof);
    for (const candidates of byProof.values()) {
      const since = arrivalOfEnough(candidates);
      if (since === undefined) continue;
      if (!(await this.#hasLetIn(since + 1))) return candidates;
    }
    return [];
  }

  /** Whether the pinned scheme has let an event in since then: one that was read back from the platform has no signature. */
  async #hasLetIn(since: number): Promise<boolean> {
    let before: string | undefined;
    do {
      const page = await this.#parts.events.list({ since }, { limit: eventsAtOnce, before });
      if (page.events.some(({ source }) => source !== 'reconciled')) return true;
      before = page.cursor;
    } while (before !== undefined);
    return false;
  }

  async #candidates(): Promise<readonly Candidate[]> {
    const { store } = this.#parts;
    const candidates: Candidate[] = [];
    for (const id of await store.unauthenticated()) {
      const kept = await store.get(id);
      const candidate = kept && (await this.#candidateOf(id, kept));
      if (candidate) candidates.push(candidate);
      // Verifying a large body in every scheme takes a while: deliveries are taken in between.
      await setImmediate();
    }
    return candidates;
  }

  async #candidateOf(id: number, kept: KeptDelivery): Promise<Candidate | undefined> {
    const verified = this.#otherwise(kept);
    const scheme = verified?.scheme;
    if (!scheme) return undefined;
    const reading = await readKept(this.#parts.decoder, kept, scheme);
    // What is left of a delivery that was cut up for another scheme is no event.
    if (!reading.ok) return undefined;
    const { receivedAt } = kept;
    const { traceId } = reading.event;
    const { identity } = reading.record;
    return { id, receivedAt, verified, proof: proofOf(scheme), traceId, identity };
  }

  #otherwise({ body, headers, receivedAt }: KeptDelivery): Verified | undefined {
    return this.#parts.authentication.authenticateOtherwise(body, headers, receivedAt);
  }
}

/** Since when enough different events have arrived, counted from the latest one; undefined if there are not enough. */
function arrivalOfEnough(candidates: readonly Candidate[]): number | undefined {
  const identities = new Set<string>();
  for (const { identity, receivedAt } of candidates.toSorted((a, b) => b.receivedAt - a.receivedAt)) {
    identities.add(identity);
    if (identities.size === eventsNeeded) return receivedAt;
  }
  return undefined;
}
