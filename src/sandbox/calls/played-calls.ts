import type { Statement } from 'better-sqlite3';
import type { BatchedWrites, Database } from '../database.ts';
import type { PlayedCall } from './call.ts';

const tables = `
  create table if not exists calls (
    number integer primary key,
    call_id text not null unique,
    organization_id text not null,
    truth text not null
  ) strict;
`;

export class PlayedCalls {
  readonly #writes: BatchedWrites;
  readonly #insert: Statement<[number, string, string, string]>;
  readonly #find: Statement<[string], { readonly organization_id: string; readonly truth: string }>;
  #lastNumber: number;

  constructor(database: Database, writes: BatchedWrites) {
    database.create(tables);
    const { connection } = database;
    this.#writes = writes;
    this.#insert = connection.prepare('insert into calls values (?, ?, ?, ?)');
    this.#find = connection.prepare('select organization_id, truth from calls where call_id = ?');
    this.#lastNumber = Number(connection.prepare('select max(number) from calls').pluck().get() ?? 0);
  }

  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  add(number: number, call: PlayedCall): void {
    const truth = JSON.stringify(call);
    this.#writes.add(() => this.#insert.run(number, call.callId, call.organizationId, truth));
  }

  /** A call of the organization; undefined for an unknown id and for another organization's call. */
  find(organizationId: string, callId: string): PlayedCall | undefined {
    const row = this.#row(callId);
    return row?.organization_id === organizationId ? (JSON.parse(row.truth) as PlayedCall) : undefined;
  }

  get(callId: string): PlayedCall | undefined {
    const row = this.#row(callId);
    return row && (JSON.parse(row.truth) as PlayedCall);
  }

  has(callId: string): boolean {
    return this.#row(callId) !== undefined;
  }

  #row(callId: string) {
    this.#writes.flush();
    return this.#find.get(callId);
  }
}
