import type { Statement } from 'better-sqlite3';
import { z } from 'zod';
import type { Database } from './database.ts';
import { type Caller, isoTime } from './model.ts';

/** How new material is cut (platform document, ChunkingStrategy). */
const chunkingStrategies = ['fixed_size', 'semantic', 'sentence', 'paragraph', 'recursive'] as const;

/** The document says that there are five, in an order, but doesn't name them: these stand for their names. */
const vectorBackends = ['vector_db_1', 'vector_db_2', 'vector_db_3', 'vector_db_4', 'vector_db_5'] as const;

/** Platform document, EmbeddingModelType. */
const embeddingModels = ['text-embedding-3-small', 'text-embedding-3-large'] as const;

const statuses = ['processing', 'completed', 'failed'] as const;

const text = z.string('text');
const name = z.string('text').min(1, 'text that is not empty');
const textOrNull = z.string('text or null').nullable();
const count = z.int('a whole number from 0').min(0, 'a whole number from 0');
const time = z.iso.datetime('a time in ISO 8601, such as 2026-01-01T00:00:00.000Z');

/**
 * A knowledge base in a seed: the fields of the platform's document with its defaults. A knowledge base without
 * `user_id` belongs to every user of its organization. The default of the times is the time of the seeding.
 *
 * @example { "id": "kb_1", "organization_id": "org_1", "name": "Handbook" }
 */
export const knowledgeBaseSeedSchema = z.strictObject({
  id: name,
  name,
  description: textOrNull.default(null),
  document_language: text.default('en'),
  document_count: count.default(0),
  chunking_strategy: z
    .enum(chunkingStrategies, `one of ${chunkingStrategies.join(', ')}`)
    .default('recursive'),
  vector_backend: z.enum(vectorBackends, `one of ${vectorBackends.join(', ')}`).default('vector_db_1'),
  embedding_model: z
    .enum(embeddingModels, `one of ${embeddingModels.join(', ')}`)
    .default('text-embedding-3-small'),
  chunk_size: count.default(512),
  chunk_overlap: count.default(50),
  assistant_persona: textOrNull.default(null),
  status: z
    .enum(statuses, `one of ${statuses.join(', ')}, or null`)
    .nullable()
    .default(null),
  workspace_id: textOrNull.default(null),
  organization_id: name,
  user_id: textOrNull.default(null),
  created_at: time.optional(),
  updated_at: time.optional(),
});

/** A knowledge base of a seed, with its defaults filled in. */
type KnowledgeBaseSeed = z.output<typeof knowledgeBaseSeedSchema>;

/** A knowledge base as the platform answers it: every field is there (platform document, KnowledgeBase). */
type KnowledgeBase = KnowledgeBaseSeed & {
  /** ISO 8601 with milliseconds and `Z`. */
  readonly created_at: string;
  readonly updated_at: string;
};

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
    const createdAt = seed.created_at ?? isoTime(now);
    const knowledgeBase = {
      ...seed,
      created_at: isoTime(Date.parse(createdAt)),
      updated_at: isoTime(Date.parse(seed.updated_at ?? createdAt)),
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
