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
  readonly #find: Statement<[string], string>;
  #lastNumber: number;

  constructor(database: Database, writes: BatchedWrites) {
    database.create(tables);
    const { connection } = database;
    this.#writes = writes;
    this.#insert = connection.prepare('insert into calls values (?, ?, ?, ?)');
    this.#find = connection.prepare<[string], string>('select truth from calls where call_id = ?').pluck();
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
    const call = this.get(callId);
    return call?.organizationId === organizationId ? call : undefined;
  }

  get(callId: string): PlayedCall | undefined {
    this.#writes.flush();
    const truth = this.#find.get(callId);
    return truth === undefined ? undefined : (JSON.parse(truth) as PlayedCall);
  }
}
