import type { EventRecord } from '../../event-record.ts';
import type {
  KeptDelivery,
  QuarantineFilter,
  QuarantinePage,
  QuarantineRecord,
  QuarantineStore,
  Quarantined,
} from '../../quarantine-store.ts';
import type { Access } from '../query/sqlite-calls.ts';

/** The quarantine in SQLite. */
export class SqliteQuarantine implements QuarantineStore {
  readonly #access: Access;
  readonly keep: (record: QuarantineRecord) => Promise<Quarantined>;

  constructor(access: Access, keep: QuarantineStore['keep']) {
    this.#access = access;
    this.keep = keep;
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
