import { z } from 'zod';

type Placeholder = 'kb_id' | 'document_id';

const root = '/api/v1/knowledge-bases';
const member = `${root}/{kb_id}`;
const documents = `${member}/documents`;

/**
 * The paths of the operations on knowledge bases and their documents. The platform's document shows only the path of
 * `knowledgeBases.get`, which therefore can't be set; the others are assumed. `{kb_id}` stands for the knowledge base,
 * and `{document_id}` for the document.
 */
export interface KnowledgeBasePaths {
  /** Of `knowledgeBases.create`. @default '/api/v1/knowledge-bases' */
  readonly create: string;
  /** Of `knowledgeBases.list`. @default '/api/v1/knowledge-bases' */
  readonly list: string;
  /** Of `knowledgeBases.update`. @default '/api/v1/knowledge-bases/{kb_id}' */
  readonly update: string;
  /** Of `knowledgeBases.delete`. @default '/api/v1/knowledge-bases/{kb_id}' */
  readonly delete: string;
  /** Of `knowledgeBases.search`. @default '/api/v1/knowledge-bases/{kb_id}/search' */
  readonly search: string;
  /** Of `documents.upload`. @default '/api/v1/knowledge-bases/{kb_id}/documents/file' */
  readonly upload: string;
  /** Of `documents.crawl`. @default '/api/v1/knowledge-bases/{kb_id}/documents/website' */
  readonly crawl: string;
  /** Of `documents.list`. @default '/api/v1/knowledge-bases/{kb_id}/documents' */
  readonly listDocuments: string;
  /**
   * Of `documents.get` and `documents.completed`; needs no `{kb_id}`. @default
   * '/api/v1/knowledge-bases/{kb_id}/documents/{document_id}'
   */
  readonly getDocument: string;
  /** Of `documents.delete`; needs no `{kb_id}`. @default '/api/v1/knowledge-bases/{kb_id}/documents/{document_id}' */
  readonly deleteDocument: string;
}

export const knowledgeBasePathsOption = z
  .strictObject({
    create: pathOption(root, []),
    list: pathOption(root, []),
    update: pathOption(member, ['kb_id']),
    delete: pathOption(member, ['kb_id']),
    search: pathOption(`${member}/search`, ['kb_id']),
    upload: pathOption(`${documents}/file`, ['kb_id']),
    crawl: pathOption(`${documents}/website`, ['kb_id']),
    listDocuments: pathOption(documents, ['kb_id']),
    // A document has its own id, so its path may omit the knowledge base's.
    getDocument: pathOption(`${documents}/{document_id}`, ['document_id'], ['kb_id']),
    deleteDocument: pathOption(`${documents}/{document_id}`, ['document_id'], ['kb_id']),
  } satisfies Record<keyof KnowledgeBasePaths, z.ZodType>)
  .prefault({});

export function filledPath(template: string, ids: Readonly<Partial<Record<Placeholder, string>>>): string {
  return Object.entries(ids).reduce((path, [name, id]) => path.replaceAll(`{${name}}`, () => id), template);
}

function pathOption(standard: string, needed: readonly Placeholder[], possible: readonly Placeholder[] = []) {
  const expected = `a path such as '${standard}'${
    needed.length > 0 ? `, with ${needed.map((name) => `{${name}}`).join(' and ')}` : ''
  }`;
  return z
    .string(expected)
    .refine((path) => needed.every((name) => path.includes(`{${name}}`)), expected)
    .refine((path) => isSentAsItIs(withoutPlaceholders(path, [...needed, ...possible])), expected)
    .default(standard);
}

function withoutPlaceholders(path: string, names: readonly Placeholder[]): string {
  return names.reduce((rest, name) => rest.replaceAll(`{${name}}`, 'id'), path);
}

/** Whether no part of a path has a special meaning in an address: a query, `..`, a space, a brace. */
function isSentAsItIs(path: string): boolean {
  return path.startsWith('/') && URL.parse(`http://host${path}`)?.pathname === path;
}
