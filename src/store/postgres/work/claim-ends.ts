import type { Sequence, Settled } from '../../sequence.ts';
import type { Session } from '../connection/session.ts';
import { type ClaimsToEnd, endClaims } from './holding.ts';
import type { OwnedEvents } from './owned-events.ts';
import type { Processes } from './processes.ts';

interface WaitingEnd {
  readonly sequence: Sequence;
  /** The process that has claimed it. */
  readonly process: number;
  readonly onEnded: (settled: Settled) => void;
  readonly onFailed: (error: unknown) => void;
}

/** Ends claims on events in groups: what ends while the last group is on its way is the next one. */
export class ClaimEnds {
  readonly #session: Session;
  readonly #processes: Processes;
  readonly #owned: OwnedEvents;
  #waiting: WaitingEnd[] = [];
  #isWriting = false;

  constructor(session: Session, processes: Processes, owned: OwnedEvents) {
    this.#session = session;
    this.#processes = processes;
    this.#owned = owned;
  }

  end({ sequence, process }: { readonly sequence: Sequence; readonly process: number }): Promise<Settled> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, process, onEnded: resolve, onFailed: reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    // What ends in the same turn of the event loop goes together.
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    while (this.#waiting.length > 0) {
      const id = this.#processes.currentId;
      const group = this.#waiting.filter(({ process }) => process === id);
      // What was claimed under another id is given back.
      for (const { process, onEnded } of this.#waiting) if (process !== id) onEnded('lost');
      this.#waiting = [];
      if (id === undefined || group.length === 0) continue;
      try {
        const { lives, held } = await this.#end(id, this.#sorted(group));
        for (const { sequence, onEnded } of group) {
          const isHeld = this.#owned.has(sequence) || held.has(sequence);
          this.#owned.delete(sequence);
          onEnded(lives && isHeld ? 'settled' : 'lost');
        }
      } catch (error) {
        for (const { onFailed } of group) onFailed(error);
      }
    }
    this.#isWriting = false;
  }

  /** Ranges may be added twice; but a claim that is gone would look lost if it was ended by a commit whose answer was. */
  #end(id: number, claims: ClaimsToEnd): ReturnType<typeof endClaims> {
    if (claims.claimed.length === 0) return endClaims(this.#session, id, claims);
    return this.#session.write((transaction) => endClaims(transaction, id, claims));
  }

  #sorted(group: readonly WaitingEnd[]): ClaimsToEnd {
    const sequences = group.map(({ sequence }) => sequence).toSorted((one, other) => one - other);
    return {
      owned: rangesOf(sequences.filter((sequence) => this.#owned.has(sequence))),
      claimed: sequences.filter((sequence) => !this.#owned.has(sequence)),
    };
  }
}

/** Joins sequences that directly follow each other. */
function rangesOf(sequences: readonly Sequence[]): [Sequence, Sequence][] {
  const ranges: [Sequence, Sequence][] = [];
  for (const sequence of sequences) {
    const range = ranges.at(-1);
    if (range?.[1] === sequence - 1) range[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges;
}
