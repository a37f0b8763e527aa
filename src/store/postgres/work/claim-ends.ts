import { setImmediate } from 'node:timers';
import type { ClaimOnEvent } from '../../shared/claimed-work.ts';
import type { Settled } from '../../claims.ts';
import type { Session } from '../connection/session.ts';
import { isInvalidData } from '../connection/statement.ts';
import type { Recorded } from '../../shared/found-work.ts';
import type { RecordedGroup } from './record.ts';
import { type ClaimsToEnd, endClaims } from './holding.ts';
import type { OwnedEvents } from './owned-events.ts';
import type { Processes } from './processes.ts';
import { type Ranges, rangesOf } from './ranges.ts';

interface WaitingEnd extends ClaimOnEvent {
  readonly onEnded: (settled: Settled) => void;
  readonly onFailed: (error: unknown) => void;
}

/**
 * Ends claims on events in groups. While events are being recorded, ends of claims on owned events wait for the next
 * group to record, so that they need no transaction of their own. They are written by themselves once no group is in
 * flight.
 */
export class ClaimEnds {
  readonly #session: Session;
  readonly #processes: Processes;
  readonly #owned: OwnedEvents;
  #waiting: WaitingEnd[] = [];
  /** The number of groups being recorded. */
  #recordings = 0;
  #isScheduled = false;
  #isWriting = false;

  constructor(session: Session, processes: Processes, owned: OwnedEvents) {
    this.#session = session;
    this.#processes = processes;
    this.#owned = owned;
  }

  end({ sequence, process }: ClaimOnEvent): Promise<Settled> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, process, onEnded: resolve, onFailed: reject });
      this.#schedule();
    });
  }

  /** Records a group of events together with the waiting ends of claims on owned events. */
  async recordWithEnds(record: (ended: Ranges) => Promise<RecordedGroup>): Promise<readonly Recorded[]> {
    this.#recordings += 1;
    this.#dropForeign();
    const group = this.#take(({ sequence }) => this.#owned.has(sequence));
    try {
      const { recorded, lives } = await record(this.#byForm(group).owned);
      this.#ended(group, { lives, held: [] });
      return recorded;
    } catch (error) {
      // The events are invalid, not the claims.
      if (isInvalidData(error)) this.#waiting.unshift(...group);
      else for (const { onFailed } of group) onFailed(error);
      throw error;
    } finally {
      this.#recordings -= 1;
      this.#schedule();
    }
  }

  /** Claims that end in the same turn of the event loop are ended together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#dropForeign();
    const group = this.#take(({ sequence }) => this.#recordings === 0 || !this.#owned.has(sequence));
    if (group.length === 0) return;
    this.#isWriting = true;
    try {
      this.#ended(group, await this.#end(this.#byForm(group)));
    } catch (error) {
      for (const { onFailed } of group) onFailed(error);
    }
    this.#isWriting = false;
    this.#schedule();
  }

  /** Loses the ends of claims made under a former id of this process, because those were given back. */
  #dropForeign(): void {
    const id = this.#processes.idIfEntered;
    for (const { process, onEnded } of this.#waiting) if (process !== id) onEnded('lost');
    this.#waiting = this.#waiting.filter(({ process }) => process === id);
  }

  #take(isTaken: (end: WaitingEnd) => boolean): readonly WaitingEnd[] {
    const taken = this.#waiting.filter(isTaken);
    this.#waiting = this.#waiting.filter((end) => !isTaken(end));
    return taken;
  }

  #ended(group: readonly WaitingEnd[], { lives, held }: Awaited<ReturnType<typeof endClaims>>): void {
    const others = new Set(held);
    for (const { sequence, onEnded } of group) {
      const isHeld = this.#owned.has(sequence) || others.has(sequence);
      this.#owned.delete(sequence);
      onEnded(lives && isHeld ? 'settled' : 'lost');
    }
  }

  /**
   * Adding a range twice does no harm, so a single statement ends claims on owned events. A row of `claims` can be
   * deleted only once, and a second try would report the claim lost: that needs a transaction, which finds out whether
   * a COMMIT without an answer succeeded.
   */
  #end(claims: ClaimsToEnd): ReturnType<typeof endClaims> {
    const { id } = this.#processes;
    if (claims.inClaims.length === 0) return endClaims(this.#session, id, claims);
    return this.#session.write((transaction) => endClaims(transaction, id, claims));
  }

  /** Divides ends by the form of their claims: see `work.ts`. */
  #byForm(group: readonly WaitingEnd[]): ClaimsToEnd {
    const sequences = group.map(({ sequence }) => sequence).toSorted((one, other) => one - other);
    return {
      owned: rangesOf(sequences.filter((sequence) => this.#owned.has(sequence))),
      inClaims: sequences.filter((sequence) => !this.#owned.has(sequence)),
    };
  }
}
