import type { EventRecord } from '../../event-record.ts';
import type {
  KeptDelivery,
  QuarantineFilter,
  QuarantinePage,
  QuarantineRecord,
  QuarantineStore,
  Quarantined,
} from '../../quarantine-store.ts';
import type { Access } from '../access.ts';
import { quarantineRow } from './keep-delivery.ts';

/** The quarantine in SQLite. */
export class SqliteQuarantine implements QuarantineStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  keep(record: QuarantineRecord): Promise<Quarantined> {
    // A buffer of its own: the body may be a part of a large one, all of which would be copied.
    const body = Uint8Array.from(record.body);
    const limits = { isDelivery: true, bytes: body.byteLength, transfer: [body.buffer] };
    return this.#access.write('keepDelivery', [quarantineRow({ ...record, body })], limits);
  }

  list(filter: QuarantineFilter): Promise<QuarantinePage> {
    return this.#access.read(({ quarantine }) => quarantine.list(filter));
  }

  get(id: number): Promise<KeptDelivery | undefined> {
    return this.#access.read(({ quarantine }) => quarantine.get(id));
  }

  unauthenticated(): Promise<readonly number[]> {
    return this.#access.read(({ quarantine }) => quarantine.unauthenticated());
  }

  release(id: number, record: EventRecord): Promise<'new' | 'duplicate' | 'missing'> {
    return this.#access.write('release', [id, record], { bytes: record.body.byteLength });
  }

  markUnreadable(id: number, reason: string): Promise<void> {
    return this.#access.write('markUnreadable', [id, reason]);
  }

  discard(id: number): Promise<boolean> {
    return this.#access.write('discard', [id]);
  }
}
