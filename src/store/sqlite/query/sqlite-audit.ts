import type { AuditCounts, AuditPage, AuditRequest, AuditRow, AuditStore } from '../../audit-store.ts';
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

  list(page: AuditPage): Promise<readonly AuditRow[]> {
    return this.#access.read(({ audit }) => audit.list(page));
  }
}
