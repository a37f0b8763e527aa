import type { Statement } from 'better-sqlite3';
import type { Database } from '../database.ts';
import type { Caller } from '../model.ts';
import type { KnowledgeBase, KnowledgeBaseSeed } from './knowledge-base.ts';

const tables = `
  create table if not exists knowledge_bases (
    id text primary key,
    organization_id text not null,
    user_id text,
    body text not null
  ) strict, without rowid;
`;

interface KnowledgeBaseRow {
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string | null;
  readonly body: string;
}

/** The knowledge bases of every tenant. They come from the seed: the document shows no operation that creates one. */
export class KnowledgeBases {
  readonly #insert: Statement<[KnowledgeBaseRow]>;
  readonly #find: Statement<[Caller & { readonly id: string }], string>;

  constructor(database: Database) {
    database.create(tables);
    this.#insert = database.connection.prepare(`
      insert into knowledge_bases (id, organization_id, user_id, body)
      values (@id, @organizationId, @userId, @body)`);
    // A knowledge base belongs to one organization and one user (platform document, Tenancy).
    this.#find = database.connection
      .prepare<[Caller & { readonly id: string }], string>(
        `select body from knowledge_bases
         where id = @id and organization_id = @organizationId and (user_id is null or user_id = @userId)`,
      )
      .pluck();
  }

  /** Adds a knowledge base of a seed; `now` is its time if the seed has none, in milliseconds since 1970. */
  add(seed: KnowledgeBaseSeed, now: number): KnowledgeBase {
    const createdAt = seed.created_at ?? new Date(now).toISOString();
    const knowledgeBase = {
      ...seed,
      created_at: inMilliseconds(createdAt),
      updated_at: inMilliseconds(seed.updated_at ?? createdAt),
    };
    this.#insert.run({
      id: seed.id,
      organizationId: seed.organization_id,
      userId: seed.user_id,
      body: JSON.stringify(knowledgeBase),
    });
    return knowledgeBase;
  }

  /** The knowledge base with that id that the caller owns. */
  find({ organizationId, userId }: Caller, id: string): KnowledgeBase | undefined {
    const body = this.#find.get({ id, organizationId, userId });
    return body === undefined ? undefined : (JSON.parse(body) as KnowledgeBase);
  }
}

function inMilliseconds(time: string): string {
  return new Date(time).toISOString();
}
