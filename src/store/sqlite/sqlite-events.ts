import { setImmediate as turn } from 'node:timers/promises';
import type {
  EventFilter,
  EventStore,
  EventStretch,
  KeptEventPage,
  KeptEventWithBytes,
  ReplayCandidate,
  ReplayRequest,
  ReplayStep,
  ReplayWrite,
} from '../event-store.ts';
import type { Sequence } from '../run-key.ts';
import type { Access } from './sqlite-calls.ts';

/** How many events a replay takes in one transaction at the most. */
const stretchEvents = 100;

/** Looking at events and replaying them, in SQLite. */
export class SqliteEvents implements EventStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  get(traceId: string): Promise<KeptEventWithBytes | undefined> {
    return this.#access.read(({ events }) => events.get(traceId));
  }

  /** In several looks, and others have their turn between them: a filter that finds little looks at much. */
  async list(
    filter: EventFilter,
    { limit, before }: { limit: number; before: Sequence | undefined },
  ): Promise<KeptEventPage> {
    const sequences: Sequence[] = [];
    let to = before === undefined ? await this.lastSequence() : before - 1;
    while (sequences.length < limit && to > 0) {
      const range = { from: 1, to, limit: limit - sequences.length, latestFirst: true };
      const found = await this.#access.read(({ findEvents }) => findEvents(filter, range));
      sequences.push(...found.sequences);
      to = found.reached - 1;
      await turn();
    }
    const events = await this.#access.read((parts) => parts.events.summaries(sequences));
    return { events, cursor: sequences.length === limit ? sequences.at(-1) : undefined };
  }

  lastSequence(): Promise<Sequence> {
    return this.#access.read(({ events }) => events.lastSequence());
  }

  async stretch(filter: EventFilter, after: Sequence, upTo: Sequence): Promise<EventStretch> {
    await turn();
    return this.#access.read(({ events, findEvents }) => {
      const range = { from: after + 1, to: upTo, limit: stretchEvents, latestFirst: false };
      const { sequences, reached } = findEvents(filter, range);
      return events.stretch(sequences, reached);
    });
  }

  wouldPutBack(step: ReplayStep): Promise<readonly ReplayCandidate[]> {
    return this.#access.read(({ replays }) => replays.wouldPutBack(step));
  }

  beginReplay(request: ReplayRequest): Promise<number> {
    return this.#access.write(({ replays }) => replays.begin(request));
  }

  putBack(step: ReplayWrite): Promise<readonly ReplayCandidate[]> {
    return this.#access.write(({ replays }) => replays.putBack(step));
  }

  endReplay(replay: number, now: number): Promise<void> {
    return this.#access.write(({ replays }) => replays.end(replay, now));
  }
}
