import type { Statement } from 'better-sqlite3';
import { createHash, randomBytes } from 'node:crypto';
import type { Connection, Database } from './database.ts';
import type { Caller } from './model.ts';

const tables = `
  create table if not exists keys (
    digest blob primary key,
    user_id text not null references users (id)
  ) strict, without rowid;
`;

/**
 * API keys, as bearer tokens. Each stands for one user, and so for one organization (platform document,
 * Authentication). Only their SHA-256 is stored, so that nobody can send requests with a copy of the database. A key is
 * looked up by its digest, so the time of the look-up reveals nothing about the key.
 */
export class Keys {
  readonly #connection: Connection;
  readonly #caller: Statement<[Buffer], Caller>;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
    this.#caller = database.connection.prepare(`
      select users.organization_id as organizationId, users.id as userId
      from keys join users on users.id = keys.user_id where keys.digest = ?`);
  }

  add(key: string, userId: string): void {
    this.#connection.prepare('insert into keys values (?, ?)').run(digestOf(key), userId);
  }

  /** The user that the key stands for, with their organization; undefined for an unknown key. */
  callerOf(key: string): Caller | undefined {
    return this.#caller.get(digestOf(key));
  }
}

/** A new key that nobody can guess. */
export function newKey(): string {
  return `key_${randomBytes(24).toString('base64url')}`;
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
