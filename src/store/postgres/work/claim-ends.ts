import type { Sequence, Settled } from '../../sequence.ts';
import type { Session } from '../connection/session.ts';
import { type ClaimsToEnd, endClaims } from './holding.ts';
import type { OwnedEvents } from './owned-events.ts';
import type { Processes } from './processes.ts';

interface WaitingEnd {
  readonly sequence: Sequence;
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

  end(sequence: Sequence): Promise<Settled> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, onEnded: resolve, onFailed: reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    // What ends in the same turn of the event loop goes together.
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        const claims = this.#sorted(group);
        const { lives, held } = await endClaims(this.#session, this.#processes.id, claims);
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
