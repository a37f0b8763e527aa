/** What must be true of a knowledge base once all of its documents are completed or failed. Each check returns what is not. */
import Database from 'better-sqlite3';
import type { KnowledgeBaseClient, ShownDocument } from './knowledge-base-client.ts';
import { type MixedDocument, scripted } from './mixed-documents.ts';

/** Each document is one that was submitted, is there once, and has its fate. */
export function fateProblems(
  documents: readonly ShownDocument[],
  submitted: ReadonlyMap<string, MixedDocument>,
): readonly string[] {
  const problems: string[] = [];
  const names = new Set<string>();
  for (const { name, status, error, chunk_count: chunks } of documents) {
    const made = submitted.get(name);
    if (!made) problems.push(`nobody submitted ${name}`);
    else if ((error?.code ?? status) !== made.fate)
      problems.push(`${made.kind} ${name} should be ${made.fate}, and is ${status} ${error?.code ?? ''}`);
    if (names.has(name)) problems.push(`${name} was submitted once, and is there twice`);
    names.add(name);
    if ((status === 'completed') !== chunks > 0) problems.push(`${name} is ${status} with ${chunks} chunks`);
  }
  return problems;
}

/** A search for the word of a completed document finds all of its chunks, before those of any other; that of a failed one none. */
export async function searchProblems(
  client: KnowledgeBaseClient,
  documents: readonly ShownDocument[],
  submitted: ReadonlyMap<string, MixedDocument>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { document_id: id, name, status, chunk_count: chunks } of documents) {
    const word = submitted.get(name)?.word ?? '';
    const found = await client.search(word, chunks + 1);
    const own = found.filter((chunk) => chunk.document_id === id);
    const first = found
      .slice(0, chunks)
      .filter((chunk) => chunk.document_id === id && chunk.text.includes(word));
    if (own.length !== chunks || first.length !== chunks)
      problems.push(
        `${status} ${name} has ${chunks} chunks, and ${own.length} are found, ${first.length} of them first`,
      );
  }
  return problems;
}

/** The database has no more than what its documents say. Its sandbox has ended. */
export function fileProblems(file: string): readonly string[] {
  const database = new Database(file, { readonly: true });
  const checks = {
    'not settled': `select id from documents where status not in ('completed', 'failed')`,
    'completed with a problem': `select id from documents where status = 'completed' and problem is not null`,
    'failed without a problem': `select id from documents where status = 'failed' and problem is null`,
    'still with what was uploaded': 'select id from documents where content is not null',
    'with another number of chunks than it says': `
      select id from documents
      where chunk_count <> (select count(*) from chunks where chunks.document = documents.position)`,
    'failed with chunks': `select id from documents where status = 'failed' and chunk_count > 0`,
    'a chunk of no document': 'select id from chunks where document not in (select position from documents)',
    'a chunk of a script': `select id from chunks where text like '%${scripted}%'`,
    'reported by SQLite': `select integrity_check from pragma_integrity_check where integrity_check <> 'ok'`,
  };
  try {
    return Object.entries(checks).flatMap(([what, sql]) =>
      database
        .prepare<[], string>(sql)
        .pluck()
        .all()
        .map((id) => `${what}: ${id}`),
    );
  } finally {
    database.close();
  }
}
