import type Database from 'better-sqlite3';
import type { Clock } from '../../kit/clock.ts';
import type {
  ClaimedEvent,
  ClaimedRun,
  DeadLetter,
  EventRecord,
  QuarantineRecord,
  RunKey,
  Sequence,
  Settled,
  Settlement,
  Store,
  StoreCounts,
} from '../store.ts';
import { prepareClaims } from './claim.ts';
import { CommitGroup, type WriteLimits } from './commit-group.ts';
import { openDatabase } from './connection.ts';
import { prepareOverview } from './overview.ts';
import { Processes } from './processes.ts';
import { prepareQuarantine } from './quarantine.ts';
import { prepareRecord } from './record.ts';
import { prepareSettling } from './settle.ts';

/** How long a delivery waits for a locked database, in milliseconds: the sender gives up after 1,000. */
const recordPatience = 700;

/** Everything that exists only while the database is open. */
interface Open {
  readonly database: Database.Database;
  readonly group: CommitGroup;
  readonly processes: Processes;
  readonly record: ReturnType<typeof prepareRecord>;
  readonly quarantine: ReturnType<typeof prepareQuarantine>;
  readonly claims: ReturnType<typeof prepareClaims>;
  readonly settling: ReturnType<typeof prepareSettling>;
  readonly overview: ReturnType<typeof prepareOverview>;
}

/** The inbox in one SQLite file (or `:memory:`), which several processes on one machine may share. */
export class SqliteStore implements Store {
  readonly name: string;
  readonly #clock: Clock;
  #open: Open | undefined;
  #dataVersion = 0;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
  }

  open(): Promise<void> {
    return asPromise(() => {
      const database = openDatabase(this.name);
      const processes = new Processes(database, this.#clock);
      this.#open = {
        database,
        processes,
        group: new CommitGroup(database, this.#clock),
        record: prepareRecord(database),
        quarantine: prepareQuarantine(database),
        claims: prepareClaims(database, processes),
        settling: prepareSettling(database, processes),
        overview: prepareOverview(database),
      };
    }).then(() => this.#write(({ processes }) => processes.join()));
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    await this.#write(({ claims, processes }) => {
      claims.releaseAll(processes.id, { died: false });
      processes.remove(processes.id);
    });
    await this.#open.group.drained();
    this.#open.database.close();
    this.#open = undefined;
  }

  record(record: EventRecord): Promise<'new' | 'duplicate'> {
    const bytes = record.body.byteLength;
    return this.#write((open) => open.record(record), { patience: recordPatience, bytes });
  }

  quarantine(record: QuarantineRecord): Promise<void> {
    const bytes = record.body.byteLength;
    return this.#write((open) => open.quarantine(record), { patience: recordPatience, bytes });
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
    return this.#write(({ settling }) => settling.finish(sequence));
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

  counts(): Promise<StoreCounts> {
    return asPromise(() => this.#opened().overview.counts());
  }

  #write<T>(operation: (open: Open) => T, limits?: WriteLimits): Promise<T> {
    return asPromise(() => this.#opened()).then((open) => open.group.write(() => operation(open), limits));
  }

  #opened(): Open {
    if (!this.#open) throw new Error(`The database ${this.name} is not open`);
    return this.#open;
  }
}

const selectLayout = "select value from settings where name = 'layout'";

/** What the driver does at once, as the contract promises it: later, and never thrown where nobody looks. */
async function asPromise<T>(work: () => T): Promise<T> {
  return work();
}
