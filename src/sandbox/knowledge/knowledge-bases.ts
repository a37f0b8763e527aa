import { randomUUID } from 'node:crypto';
import { type Connection, type Database, type Page, pageOf } from '../database.ts';
import { type Caller, isoTime } from '../model.ts';
import type { KnowledgeBaseFields, KnowledgeBaseSeed } from './fields.ts';

/** The stored fields of a knowledge base; the others follow from its documents. */
interface StoredKnowledgeBase extends KnowledgeBaseFields {
  readonly id: string;
  readonly organization_id: string;
  readonly user_id: string | null;
  /** ISO 8601 with milliseconds and `Z`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** A knowledge base in an answer, with every field (platform document, KnowledgeBase). */
export interface KnowledgeBase extends StoredKnowledgeBase {
  readonly document_count: number;
  readonly status: 'processing' | 'completed' | 'failed' | null;
}

const tables = `
  create table if not exists knowledge_bases (
    position integer primary key autoincrement,
    id text not null unique,
    organization_id text not null,
    user_id text,
    body text not null
  ) strict;
  create index if not exists knowledge_bases_of_organization on knowledge_bases (organization_id, position);
`;

/** A knowledge base belongs to one organization and one user (platform document, Tenancy). */
const owned = 'organization_id = @organizationId and (user_id is null or user_id = @userId)';

const columns = `
  position, body,
  (select count(*) from documents where knowledge_base_id = knowledge_bases.id) as documents,
  (select count(*) from documents where knowledge_base_id = knowledge_bases.id
    and status in ('queued', 'processing')) as waiting,
  (select count(*) from documents where knowledge_base_id = knowledge_bases.id and status = 'failed') as failed
`;

interface Row {
  readonly position: number;
  readonly body: string;
  readonly documents: number;
  readonly waiting: number;
  readonly failed: number;
}

export class KnowledgeBases {
  readonly #connection: Connection;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
  }

  /** Adds a knowledge base of a seed; `now` is its time if the seed has none, in milliseconds since 1970. */
  add(seed: Omit<KnowledgeBaseSeed, 'documents'>, now: number): void {
    const createdAt = seed.created_at ?? isoTime(now);
    this.#write({
      ...seed,
      created_at: isoTime(Date.parse(createdAt)),
      updated_at: isoTime(Date.parse(seed.updated_at ?? createdAt)),
    });
  }

  create(caller: Caller, fields: KnowledgeBaseFields, now: number): KnowledgeBase {
    const stored = {
      id: `kb_${randomUUID()}`,
      ...fields,
      organization_id: caller.organizationId,
      user_id: caller.userId,
      created_at: isoTime(now),
      updated_at: isoTime(now),
    };
    this.#write(stored);
    return { ...stored, document_count: 0, status: null };
  }

  /** The knowledge base with that id, if the caller owns it. */
  find({ organizationId, userId }: Caller, id: string): KnowledgeBase | undefined {
    const [row] = this.#rows(`id = @id and ${owned}`, { id, organizationId, userId });
    return row && knowledgeBaseOf(row);
  }

  fieldsOf(id: string): KnowledgeBaseFields | undefined {
    const select = 'select body from knowledge_bases where id = ?';
    const body = this.#connection.prepare<[string], string>(select).pluck().get(id);
    return body === undefined ? undefined : (JSON.parse(body) as KnowledgeBaseFields);
  }

  list({ organizationId, userId }: Caller, after: number, size: number): Page<KnowledgeBase> {
    const where = `${owned} and position > @after order by position limit @limit`;
    const rows = this.#rows(where, { organizationId, userId, after, limit: size + 1 });
    return pageOf(rows, size, knowledgeBaseOf);
  }

  /** Replaces what a client may set, except the model. */
  replace(
    { organizationId, userId }: Caller,
    found: KnowledgeBase,
    fields: Omit<KnowledgeBaseFields, 'embedding_model'>,
    now: number,
  ): KnowledgeBase {
    const { document_count: _count, status: _status, ...stored } = found;
    const body = { ...stored, ...fields, updated_at: isoTime(now) };
    this.#connection
      .prepare(`update knowledge_bases set body = @body where id = @id and ${owned}`)
      .run({ id: found.id, organizationId, userId, body: JSON.stringify(body) });
    return { ...found, ...body };
  }

  delete({ organizationId, userId }: Caller, id: string): void {
    this.#connection
      .prepare(`delete from knowledge_bases where id = @id and ${owned}`)
      .run({ id, organizationId, userId });
  }

  #write(stored: StoredKnowledgeBase): void {
    const { id, organization_id: organizationId, user_id: userId } = stored;
    this.#connection
      .prepare('insert into knowledge_bases (id, organization_id, user_id, body) values (?, ?, ?, ?)')
      .run(id, organizationId, userId, JSON.stringify(stored));
  }

  #rows(where: string, values: Readonly<Record<string, string | number>>): readonly Row[] {
    const select = `select ${columns} from knowledge_bases where ${where}`;
    return this.#connection.prepare<[typeof values], Row>(select).all(values);
  }
}

function knowledgeBaseOf({ body, documents, waiting, failed }: Row): KnowledgeBase {
  const stored = JSON.parse(body) as StoredKnowledgeBase;
  const settled = failed > 0 ? 'failed' : documents > 0 ? 'completed' : null;
  return { ...stored, document_count: documents, status: waiting > 0 ? 'processing' : settled };
}
