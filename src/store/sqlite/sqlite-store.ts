import type { Clock } from '../../kit/clock.ts';
import type { CallStore } from '../call-store.ts';
import type { RunKey, Sequence, Settled } from '../run-key.ts';
import type {
  ClaimedEvent,
  ClaimedRun,
  DeadLetter,
  EventRecord,
  EventState,
  QuarantineRecord,
  Settlement,
  Store,
  StoreCounts,
} from '../store.ts';
import type { WriteLimits } from './commit-group.ts';
import { type Parts, openParts } from './parts.ts';
import { SqliteCalls } from './sqlite-calls.ts';

/** How long a delivery waits for a locked database, in milliseconds: the sender gives up after 1,000. */
const recordPatience = 700;

/** The inbox in one SQLite file (or `:memory:`), which several processes on one machine may share. */
export class SqliteStore implements Store {
  readonly name: string;
  readonly calls: CallStore;
  readonly #clock: Clock;
  #parts: Parts | undefined;
  #dataVersion = 0;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
    this.calls = new SqliteCalls({
      read: (operation) => asPromise(() => operation(this.#opened())),
      write: (operation) => this.#write(operation),
    });
  }

  async open(): Promise<void> {
    this.#parts = openParts(this.name, this.#clock);
    await this.#write(({ processes }) => processes.join());
  }

  async close(): Promise<void> {
    if (!this.#parts) return;
    await this.#write(({ claims, processes }) => {
      claims.releaseAll(processes.id, { died: false });
      processes.remove(processes.id);
    });
    await this.#parts.group.drained();
    this.#parts.database.close();
    this.#parts = undefined;
  }

  record(record: EventRecord): Promise<'new' | 'duplicate'> {
    const bytes = record.body.byteLength;
    return this.#write((parts) => parts.record(record), { patience: recordPatience, bytes });
  }

  quarantine(record: QuarantineRecord): Promise<void> {
    const bytes = record.body.byteLength;
    return this.#write((parts) => parts.quarantine(record), { patience: recordPatience, bytes });
  }

  pinnedLayout(): Promise<string | undefined> {
    return asPromise(() => this.#opened().database.prepare(selectLayout).pluck().get() as string | undefined);
  }

  pinLayout(layout: string): Promise<string> {
    return this.#write(({ database }) => {
      database.prepare("insert into settings values ('layout', ?) on conflict do nothing").run(layout);
      return database.prepare(selectLayout).pluck().get() as string;
    });
  }

  claimEvents(limit: number): Promise<readonly ClaimedEvent[]> {
    return this.#write(({ claims }) => claims.events(limit));
  }

  claimRuns(handler: string, limit: number, now: number): Promise<readonly ClaimedRun[]> {
    return this.#write(({ claims }) => claims.runs(handler, limit, now));
  }

  nextDue(handler: string): Promise<number | undefined> {
    return asPromise(() => this.#opened().claims.nextDue(handler));
  }

  begin(run: RunKey): Promise<number | undefined> {
    return this.#write(({ settling }) => settling.begin(run));
  }

  settle(settlement: Settlement): Promise<Settled> {
    return this.#write(({ settling }) => settling.settle(settlement));
  }

  settleWith(settlement: Settlement, effects: (database: never) => unknown): Promise<Settled> {
    return this.#write(
      ({ database, settling }) => {
        const settled = settling.settle(settlement);
        // Not ours any more: the process that took the run over writes its effects, not this one.
        if (settled === 'settled') effects(database as never);
        return settled;
      },
      { alone: true },
    );
  }

  finish(sequence: Sequence): Promise<void> {
    return this.#write(({ settling }) => settling.endClaim(sequence));
  }

  async keepAlive(): Promise<{ readonly takenOver: number }> {
    const { processes, claims } = this.#opened();
    const dead = processes.dead();
    // A process that holds nothing and finds nothing writes nothing: an idle receiver leaves the disk alone.
    if (dead.length === 0 && !claims.hasAny()) return { takenOver: 0 };
    return this.#write(() => {
      processes.beat();
      let takenOver = 0;
      for (const id of dead) {
        takenOver += claims.releaseAll(id, { died: true });
        processes.remove(id);
      }
      return { takenOver };
    });
  }

  changedElsewhere(): boolean {
    const version = this.#opened().database.pragma('data_version', { simple: true }) as number;
    const changed = version !== this.#dataVersion;
    this.#dataVersion = version;
    return changed;
  }

  deadLetters(limit: number): Promise<readonly DeadLetter[]> {
    return asPromise(() => this.#opened().overview.deadLetters(limit));
  }

  waitingHandlers(): Promise<readonly string[]> {
    return asPromise(() => this.#opened().overview.waitingHandlers());
  }

  eventState(traceId: string): Promise<EventState | undefined> {
    return asPromise(() => this.#opened().overview.eventState(traceId));
  }

  counts(): Promise<StoreCounts> {
    return asPromise(() => this.#opened().overview.counts());
  }

  #write<T>(operation: (parts: Parts) => T, limits?: WriteLimits): Promise<T> {
    return asPromise(() => this.#opened()).then((parts) => parts.group.write(() => operation(parts), limits));
  }

  #opened(): Parts {
    if (!this.#parts) throw new Error(`The database ${this.name} is not open`);
    return this.#parts;
  }
}

const selectLayout = "select value from settings where name = 'layout'";

/** What the driver does at once, as the contract promises it: later, and never thrown where nobody looks. */
async function asPromise<T>(work: () => T): Promise<T> {
  return work();
}
