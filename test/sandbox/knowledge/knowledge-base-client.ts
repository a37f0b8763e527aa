/** One knowledge base of a sandbox, over HTTP: nothing here is known to the sandbox or to the tests' runner. */
import type { Submitted } from './mixed-documents.ts';

/** A document as the sandbox answers it. */
export interface ShownDocument {
  readonly [field: string]: unknown;
  readonly document_id: string;
  readonly name: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly chunk_count: number;
  readonly updated_at: string;
}

export interface FoundChunk {
  readonly document_id: string;
  readonly text: string;
}

export const knowledgeBasePath = '/api/v1/knowledge-bases';

/** A file as it is uploaded. */
export interface UploadedFile {
  readonly name: string;
  readonly content: string | Uint8Array<ArrayBuffer>;
  readonly type?: string;
}

/** The form of an upload. */
export function formOf({ name, content, type = '' }: UploadedFile): FormData {
  const form = new FormData();
  form.set('file', new File([content], name, { type }));
  return form;
}

/** Where a sandbox is, and the key that opens it. */
export interface SandboxAddress {
  readonly url: string;
  readonly apiKey: string;
}

export class KnowledgeBaseClient {
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, apiKey }: SandboxAddress, id: string) {
    this.#path = `${url}${knowledgeBasePath}/${id}`;
    this.#headers = { authorization: `Bearer ${apiKey}` };
  }

  /** Creates a knowledge base, and returns its id. */
  static async create(address: SandboxAddress, fields: object): Promise<string> {
    const { id } = await new KnowledgeBaseClient(address, '').#ask<{ id: string }>('POST', '', fields);
    return id;
  }

  /** Resolves once the sandbox has said that the document is stored. */
  async submit(submitted: Submitted): Promise<ShownDocument> {
    if ('urls' in submitted) return this.#ask('POST', '/documents/website', submitted);
    return this.#ask('POST', '/documents/file', formOf(submitted));
  }

  document(id: string): Promise<ShownDocument> {
    return this.#ask('GET', `/documents/${id}`);
  }

  /** All documents, in the order of their submission. */
  async documents(): Promise<readonly ShownDocument[]> {
    const found: ShownDocument[] = [];
    for (let token: string | null = ''; token !== null;) {
      const query = token === '' ? '' : `&page_token=${token}`;
      const page: { documents: ShownDocument[]; next_page_token: string | null } = await this.#ask(
        'GET',
        `/documents?page_size=100${query}`,
      );
      found.push(...page.documents);
      token = page.next_page_token;
    }
    return found;
  }

  async search(query: string, limit = 5): Promise<readonly FoundChunk[]> {
    const { results } = await this.#ask<{ results: FoundChunk[] }>('POST', '/search', { query, limit });
    return results;
  }

  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const isForm = body instanceof FormData;
    const response = await fetch(this.#path.replace(/\/$/, '') + path, {
      method,
      headers: { ...this.#headers, ...(body && !isForm && { 'content-type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new RefusedRequest(`${method} ${path} was answered with ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }
}

/** The sandbox answered, and not as it should: no kill explains that. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
}
