import { z } from 'zod';

type Placeholder = 'kb_id' | 'document_id';

const root = '/api/v1/knowledge-bases';
const member = `${root}/{kb_id}`;
const documents = `${member}/documents`;

/** The assumed paths, by the operation: `listDocuments` is of `documents.list`, and so on. */
const assumed = {
  create: root,
  list: root,
  update: member,
  delete: member,
  search: `${member}/search`,
  upload: `${documents}/file`,
  crawl: `${documents}/website`,
  listDocuments: documents,
  getDocument: `${documents}/{document_id}`,
  deleteDocument: `${documents}/{document_id}`,
};

/**
 * The paths of the operations on knowledge bases and their documents. The platform's document shows only the path of
 * `knowledgeBases.get`, which therefore can't be set; the others are assumed (docs/platform.md has the defaults).
 * `{kb_id}` stands for the knowledge base, and `{document_id}` for the document, whose path needs no `{kb_id}`.
 */
export type KnowledgeBasePaths = { readonly [Operation in keyof typeof assumed]: string };

export const knowledgeBasePathsOption = z
  .strictObject(
    Object.fromEntries(
      Object.entries(assumed).map(([operation, path]) => [operation, pathOption(path)]),
    ) as Record<keyof KnowledgeBasePaths, ReturnType<typeof pathOption>>,
  )
  .prefault({});

/** Fills encoded ids into a path. */
export function filledPath(template: string, ids: Readonly<Partial<Record<Placeholder, string>>>): string {
  return Object.entries(ids).reduce((path, [name, id]) => path.replaceAll(`{${name}}`, () => id), template);
}

function pathOption(standard: string) {
  const possible = ['{document_id}', '{kb_id}'].filter((placeholder) => standard.includes(placeholder));
  // A document has its own id, so its path may omit the knowledge base's.
  const [needed = ''] = possible;
  const expected = `a path such as '${standard}'${needed && `, with ${needed}`}`;
  return z
    .string(expected)
    .refine((path) => path.includes(needed), expected)
    .refine((path) => {
      return isSentAsItIs(possible.reduce((rest, name) => rest.replaceAll(name, 'id'), path));
    }, expected)
    .default(standard);
}

/** Whether no part of a path has a special meaning in an address: a query, `..`, a space, a brace. */
function isSentAsItIs(path: string): boolean {
  return path.startsWith('/') && URL.parse(`http://host${path}`)?.pathname === path;
}
