import type {
  AuditCounts,
  AuditPage,
  AuditRequest,
  AuditRow,
  AuditStore,
  ProgressStep,
} from '../../audit-store.ts';
import type { Access } from '../access.ts';

/** What people have done to a SQLite inbox. */
export class SqliteAudit implements AuditStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  begin(request: AuditRequest): Promise<number> {
    return this.#access.write('beginAudit', [request]);
  }

  end(id: number, now: number, counts: AuditCounts): Promise<void> {
    return this.#access.write('endAudit', [id, now, counts]);
  }

  get(id: number): Promise<AuditRow | undefined> {
    return this.#access.read(({ audit }) => audit.get(id));
  }

  running(): Promise<readonly AuditRow[]> {
    return this.#access.read(({ audit }) => audit.running());
  }

  advance(step: ProgressStep): Promise<boolean> {
    return this.#access.write('advanceAudit', [step]);
  }

  stop(id: number, now: number): Promise<boolean> {
    return this.#access.write('stopAudit', [id, now]);
  }

  list(page: AuditPage): Promise<readonly AuditRow[]> {
    return this.#access.read(({ audit }) => audit.list(page));
  }
}
