/** Fills knowledge bases of a sandbox and searches them as any client would, with plain `fetch`. */
import { expect } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { type Answer, ask } from '../support.ts';
import { type ShownDocument, type UploadedFile, formOf, knowledgeBasePath } from './knowledge-base-client.ts';

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
  file: UploadedFile,
  key = sandbox.apiKey ?? null,
): Promise<Answer> {
  // As a stream: while a large form is written in one piece, the sandbox would close the connection that the client kept.
  const response = await fetch(`${sandbox.url}${knowledgeBasePath}/${knowledgeBase}/documents/file`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: formOf(file),
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
  return (json as ShownDocument).document_id;
}

/** A document that is completed or failed: waits until it is. */
export async function settled(
  sandbox: Sandbox,
  knowledgeBase: string,
  id: string,
  key = sandbox.apiKey ?? null,
): Promise<ShownDocument> {
  const path = `${knowledgeBasePath}/${knowledgeBase}/documents/${id}`;
  const read = async () => (await ask(sandbox, `GET ${path}`, { key })).json as ShownDocument;
  await expect.poll(async () => (await read()).status, { interval: 10 }).toMatch(/completed|failed/);
  return read();
}

/** Sends a file, and waits until its document is completed or failed. */
export async function processed(
  sandbox: Sandbox,
  knowledgeBase: string,
  file: UploadedFile,
  key = sandbox.apiKey ?? null,
): Promise<ShownDocument> {
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
