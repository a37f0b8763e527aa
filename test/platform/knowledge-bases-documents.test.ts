import { describe, expect, expectTypeOf, it, test } from 'vitest';
import type { Documents, FileToUpload, KnowledgeDocument } from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';
import {
  type Received,
  addressOfNobody,
  clientOf,
  everything,
  platformError,
  reset,
  standIn,
} from './support.ts';

const queued = { document_id: 'doc_1', status: 'queued', shelf: 7 };
const file = { name: 'prices.md', content: '# Prices' };
const urls = ['https://www.example.com/prices', 'http://www.example.com/times?a=b'];
const secondDocument = 'Check with documents.list before you submit it again';

/** The file of a form, read as any server would read it. */
async function fileIn(request: Received | undefined) {
  const type = String(request?.headers['content-type']);
  const form = await new Response(request?.bytes, { headers: { 'content-type': type } }).formData();
  const part = form.get('file');
  if (!(part instanceof File)) throw new Error('there is no file');
  const names = [...form.keys()];
  return { names, name: part.name, type: part.type, bytes: new Uint8Array(await part.arrayBuffer()) };
}

async function uploaded(given: FileToUpload) {
  const { url, received } = await standIn({ status: 202, json: queued });
  await clientOf(url).platform.documents.upload('kb_1', given);
  return fileIn(received[0]);
}

describe('documents.upload', () => {
  it('sends a form with the file, and gives the document with all fields as they came', async () => {
    const { url, received } = await standIn({ status: 202, json: queued });
    expect(await clientOf(url).platform.documents.upload('kb_1', file)).toEqual(queued);
    expect(received).toMatchObject([
      {
        method: 'POST',
        url: '/api/v1/knowledge-bases/kb_1/documents/file',
        headers: {
          'content-type': expect.stringMatching(/^multipart\/form-data; boundary=/),
          'content-length': String(received[0]?.bytes.byteLength),
        },
      },
    ]);
    expect(await fileIn(received[0])).toEqual({
      names: ['file'],
      name: 'prices.md',
      type: 'application/octet-stream',
      bytes: new TextEncoder().encode('# Prices'),
    });
  });

  const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
  test.each<[string, Uint8Array | Blob]>([
    ['bytes', bytes],
    ['a Buffer that is part of another', Buffer.concat([Buffer.from('xx'), bytes]).subarray(2)],
    ['bytes that threads share', shared(bytes)],
    ['a Blob', new Blob([bytes])],
  ])('leaves every byte as it is: %s', async (_, content) => {
    expect(Buffer.from((await uploaded({ name: 'a.pdf', content })).bytes).equals(bytes)).toBe(true);
  });

  it('sends text as UTF-8, whatever is in it', async () => {
    const content = 'Grüße\r\n--x\r\n\u0000\uFEFF🙂';
    expect(
      new TextDecoder('utf-8', { ignoreBOM: true }).decode((await uploaded({ name: 'a', content })).bytes),
    ).toBe(content);
  });

  test.each<[string, FileToUpload, string]>([
    ['given', { name: 'a', content: 'a', contentType: 'text/markdown; charset=utf-8' }, 'text/markdown'],
    [
      'that of a Blob',
      { name: 'a', content: new Blob(['a'], { type: 'application/pdf' }) },
      'application/pdf',
    ],
    [
      'given instead of that of a Blob',
      { name: 'a', content: new Blob(['a'], { type: 'text/html' }), contentType: 'text/plain' },
      'text/plain',
    ],
  ])('says what type it is: %s', async (_, given, type) => {
    expect((await uploaded(given)).type).toContain(type);
  });

  test.each(['prices "new".md', 'Preise für März.md', 'a\r\nContent-Type: b.md'])(
    'a name can not break the form: %j',
    async (name) => {
      const sent = await uploaded({ name, content: 'whole' });
      expect(sent).toMatchObject({ names: ['file'], type: 'application/octet-stream' });
      expect(new TextDecoder().decode(sent.bytes)).toBe('whole');
    },
  );

  it('is sent by a fetch that knows no form of Node', async () => {
    const { url, received } = await standIn({ status: 202, json: queued });
    const plain: typeof fetch = (address, options) => {
      expect(options?.body).toBeInstanceOf(Uint8Array);
      return fetch(address, options);
    };
    await clientOf(url, { fetch: plain }).platform.documents.upload('kb_1', file);
    expect((await fileIn(received[0])).name).toBe('prices.md');
  });

  test.each([
    ['no name', { content: 'a' }, /The option name in documents\.upload/],
    ['an empty name', { name: '', content: 'a' }, /The option name in documents\.upload/],
    ['no content', { name: 'a' }, /The option content in documents\.upload .* a Uint8Array or a Blob/],
    ['content of another kind', { name: 'a', content: ['secret'] }, /but is a list\.$/],
    ['a type that is none', { name: 'a', content: 'a', contentType: 'pdf' }, /The option contentType/],
    ['an unknown field', { name: 'a', content: 'a', type: 'b' }, /There is no option type/],
    ['a path', '/etc/passwd', /documents\.upload\(file\) should be an object with name, content/],
  ])('refuses %s before anything is sent', async (_, given, sentence) => {
    const { url, received } = await standIn({ status: 202, json: queued });
    await expect(clientOf(url).platform.documents.upload('kb_1', untyped(given))).rejects.toThrow(sentence);
    expect(received).toEqual([]);
  });
});

describe('documents.crawl', () => {
  it('sends the addresses', async () => {
    const { url, received } = await standIn({ status: 202, json: { ...queued, urls } });
    expect(await clientOf(url).platform.documents.crawl('kb_1', urls)).toEqual({ ...queued, urls });
    expect(received).toMatchObject([
      {
        method: 'POST',
        url: '/api/v1/knowledge-bases/kb_1/documents/website',
        body: JSON.stringify({ urls }),
      },
    ]);
  });

  test.each([
    ['no addresses', [], /The option urls in documents\.crawl/],
    ['an address that is none', ['www.example.com'], /The option urls\.0 in documents\.crawl/],
    ['another protocol', ['https://a.example.com', 'file:///etc/passwd'], /The option urls\.1/],
    ['a single address', 'https://www.example.com', /The option urls .* a list of addresses/],
  ])('refuses %s', async (_, given, sentence) => {
    const { url, received } = await standIn({ status: 202, json: queued });
    await expect(clientOf(url).platform.documents.crawl('kb_1', untyped(given))).rejects.toThrow(sentence);
    expect(received).toEqual([]);
  });
});

describe.each<[string, (documents: Documents) => Promise<unknown>]>([
  ['upload', (documents) => documents.upload('kb_1', file)],
  ['crawl', (documents) => documents.crawl('kb_1', urls)],
])('a submission by documents.%s', (_, submit) => {
  it.each([429, 503])('is sent again, the same, after an answer of %i: it was not taken', async (status) => {
    const refusal = { status, headers: { 'retry-after': '1' }, json: {} };
    const { url, received } = await standIn(refusal, { status: 202, json: queued });
    const { platform, waits } = clientOf(url);
    expect(await submit(platform.documents)).toEqual(queued);
    expect(waits).toEqual([1_250]);
    expect(received[1]?.body).toBe(received[0]?.body);
  });

  it.each([
    ['without an answer', reset],
    ['with 500', { status: 500, json: {} }],
    ['with 503 that does not ask to come back', { status: 503, json: {} }],
    ['with 504', { status: 504, json: {} }],
    ['in another form', { status: 202, json: { id: 'doc_1' } }],
  ])('is not sent again if it ends %s: it would make a second document', async (_how, answer) => {
    const { url, received } = await standIn(answer);
    expect((await platformError(submit(clientOf(url).platform.documents))).message).toContain(secondDocument);
    expect(received).toHaveLength(1);
  });

  it('is sent again if it certainly never arrived', async () => {
    const { platform, waits } = clientOf(await addressOfNobody());
    const error = await platformError(submit(platform.documents));
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(error.message).not.toContain(secondDocument);
    expect(waits).toHaveLength(3);
  });
});

describe('the other operations on documents', () => {
  it('list all, page by page', async () => {
    const { url, received } = await standIn(
      { json: { documents: [queued, { document_id: 'doc_2' }], next_page_token: 'two' } },
      { json: { documents: [{ document_id: 'doc_3' }] } },
    );
    const listed = await everything(clientOf(url).platform.documents.list('kb/1', { pageSize: 2 }));
    expect(listed).toEqual([queued, { document_id: 'doc_2' }, { document_id: 'doc_3' }]);
    expect(received.map((request) => request.url)).toEqual([
      '/api/v1/knowledge-bases/kb%2F1/documents?page_size=2',
      '/api/v1/knowledge-bases/kb%2F1/documents?page_size=2&page_token=two',
    ]);
  });

  it('get one', async () => {
    const json = { ...queued, source: { kind: 'file' }, error: 'none yet', status: null };
    const { url } = await standIn({ json });
    const document = await clientOf(url).platform.documents.get('kb_1', 'doc_1');
    expect(document).toEqual(json);
    expectTypeOf(document).toEqualTypeOf<KnowledgeDocument>();
    expectTypeOf(document.document_id).toEqualTypeOf<string>();
    expectTypeOf(document['shelf']).toEqualTypeOf<unknown>();
  });

  it('delete one', async () => {
    const { url, received } = await standIn({ status: 204 });
    await expect(clientOf(url).platform.documents.delete('kb_1', 'doc_1')).resolves.toBeUndefined();
    expect(received).toMatchObject([
      { method: 'DELETE', url: '/api/v1/knowledge-bases/kb_1/documents/doc_1' },
    ]);
  });

  test.each<[string, (documents: Documents) => unknown, string]>([
    ['get', (documents) => documents.get('kb_1', ''), 'documentId in documents.get'],
    ['delete', (documents) => documents.delete('', 'doc_1'), 'knowledgeBaseId in documents.delete'],
    ['upload', (documents) => documents.upload('..', file), 'knowledgeBaseId in documents.upload'],
  ])('refuse an id that is none: %s', async (_, call, option) => {
    const { url, received } = await standIn({ json: queued });
    await expect(call(clientOf(url).platform.documents)).rejects.toThrow(`The option ${option}`);
    expect(received).toEqual([]);
  });
});

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  copy.set(bytes);
  return copy;
}
