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
 * API keys, as bearer tokens. Each stands for one user, and so for one organization (platform document, Authentication).
 * Only their SHA-256 is stored: a copy of the database opens nothing. What is looked up is the digest, so the time that
 * it takes tells nothing of the key.
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

  /** Who sends this key, or undefined when nobody has it. */
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
