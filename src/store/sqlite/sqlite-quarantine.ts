import type { EventRecord } from '../event-record.ts';
import type {
  KeptDelivery,
  QuarantineFilter,
  QuarantinePage,
  QuarantineRecord,
  QuarantineStore,
  Quarantined,
} from '../quarantine-store.ts';
import type { Clock } from '../../kit/clock.ts';
import { recordPatience } from './commit-group.ts';
import { inTime } from './in-time.ts';
import type { Access } from './sqlite-calls.ts';

/** How many deliveries may be on their way here: a disk that falls behind must not take the process's memory. */
const mostWrites = 1_024;
const mostBytes = 16 * 1024 * 1024;

/** The quarantine in SQLite. */
export class SqliteQuarantine implements QuarantineStore {
  readonly #access: Access;
  readonly #clock: Clock;
  #writes = 0;
  #bytes = 0;

  constructor(access: Access, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  async keep(record: QuarantineRecord): Promise<Quarantined> {
    const bytes = record.body.byteLength;
    const isFull = this.#writes >= mostWrites || this.#bytes + bytes > mostBytes;
    // However large a body may be by the options, one has room.
    if (isFull && this.#writes > 0) throw new Error('the database has fallen behind');
    const limits = { patience: recordPatience, bytes };
    const written = this.#access.write(({ quarantine }) => quarantine.keep(record), limits);
    return inTime(this.#counted(written, bytes), this.#clock);
  }

  /** A write that nobody waits for any more still counts, because its body is still in memory. */
  async #counted<T>(write: Promise<T>, bytes: number): Promise<T> {
    this.#writes += 1;
    this.#bytes += bytes;
    try {
      return await write;
    } finally {
      this.#writes -= 1;
      this.#bytes -= bytes;
    }
  }

  list(filter: QuarantineFilter): Promise<QuarantinePage> {
    return this.#access.read(({ quarantine }) => quarantine.list(filter));
  }

  get(id: number): Promise<KeptDelivery | undefined> {
    return this.#access.read(({ quarantine }) => quarantine.get(id));
  }

  strangers(): Promise<readonly number[]> {
    return this.#access.read(({ quarantine }) => quarantine.strangers());
  }

  release(id: number, record: EventRecord): Promise<'new' | 'duplicate' | 'missing'> {
    const limits = { bytes: record.body.byteLength };
    return this.#access.write(({ quarantine }) => quarantine.release(id, record), limits);
  }

  markUnreadable(id: number, reason: string): Promise<void> {
    return this.#access.write(({ quarantine }) => quarantine.markUnreadable(id, reason));
  }

  discard(id: number): Promise<boolean> {
    return this.#access.write(({ quarantine }) => quarantine.discard(id));
  }
}
