/** Fills knowledge bases of a sandbox and searches them as any client would, with plain `fetch`. */
import { expect } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { type Answer, ask } from '../support.ts';

export const knowledgeBasePath = '/api/v1/knowledge-bases';

/** A document as the sandbox answers it. */
export interface AnsweredDocument {
  readonly document_id: string;
  readonly status: 'queued' | 'processing' | 'completed' | 'failed';
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly chunk_count: number;
  readonly [field: string]: unknown;
}

interface SearchResult {
  readonly document_id: string;
  readonly document_name: string;
  readonly text: string;
  readonly score: number;
}

/** Creates a knowledge base, and returns its id. */
export async function createdKnowledgeBase(sandbox: Sandbox, fields: object = {}): Promise<string> {
  const body = { name: 'Handbook', ...fields };
  const { status, json } = await ask(sandbox, `POST ${knowledgeBasePath}`, { body });
  expect(status).toBe(201);
  return (json as { id: string }).id;
}

/** Sends a file, and returns the answer. */
export async function upload(
  sandbox: Sandbox,
  knowledgeBase: string,
  { name, content, type = '' }: { name: string; content: string | Uint8Array<ArrayBuffer>; type?: string },
  key = sandbox.apiKey ?? null,
): Promise<Answer> {
  const form = new FormData();
  form.set('file', new File([content], name, { type }));
  // As a stream: while a large form is written in one piece, the sandbox would close the connection that the client kept.
  const response = await fetch(`${sandbox.url}${knowledgeBasePath}/${knowledgeBase}/documents/file`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

/** Sends the addresses of pages, and returns the answer. */
export function crawl(sandbox: Sandbox, knowledgeBase: string, urls: readonly string[]): Promise<Answer> {
  return ask(sandbox, `POST ${knowledgeBasePath}/${knowledgeBase}/documents/website`, { body: { urls } });
}

/** The id of the document of an answer that says that it is queued. */
export function queuedId({ status, json }: Answer): string {
  expect(status).toBe(202);
  return (json as AnsweredDocument).document_id;
}

/** A document that is completed or failed: waits until it is. */
export async function settled(
  sandbox: Sandbox,
  knowledgeBase: string,
  id: string,
  key = sandbox.apiKey ?? null,
): Promise<AnsweredDocument> {
  const path = `${knowledgeBasePath}/${knowledgeBase}/documents/${id}`;
  const read = async () => (await ask(sandbox, `GET ${path}`, { key })).json as AnsweredDocument;
  await expect.poll(async () => (await read()).status, { interval: 10 }).toMatch(/completed|failed/);
  return read();
}

/** Sends a file, and waits until its document is completed or failed. */
export async function processed(
  sandbox: Sandbox,
  knowledgeBase: string,
  file: Parameters<typeof upload>[2],
  key = sandbox.apiKey ?? null,
): Promise<AnsweredDocument> {
  const answer = await upload(sandbox, knowledgeBase, file, key);
  return settled(sandbox, knowledgeBase, queuedId(answer), key);
}

/** What a search finds. */
export async function search(
  sandbox: Sandbox,
  knowledgeBase: string,
  query: string,
  limit = 5,
  key = sandbox.apiKey ?? null,
): Promise<readonly SearchResult[]> {
  const body = { query, limit };
  const { status, json } = await ask(sandbox, `POST ${knowledgeBasePath}/${knowledgeBase}/search`, {
    key,
    body,
  });
  expect(status).toBe(200);
  return (json as { results: readonly SearchResult[] }).results;
}
