// @module-tag long
/** What can't be processed fails with a reason, and harms nothing else. */
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { ManualClock } from '../../support/clock.ts';
import { ask, sandboxForTests, startedSandbox } from '../support.ts';
import { bytesOf, docxFiles, encryptedPdf, paragraph, pdfOf, zipOf } from './document-files.ts';
import { crawl, createdKnowledgeBase, processed, queuedId, search, settled } from './filling.ts';
import { type ShownDocument, knowledgeBasePath } from './knowledge-base-client.ts';
import { website } from './website.ts';

const megabyte = 1024 ** 2;
const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

/** That a document failed with this code, that it tells why, and that the next document is found. */
async function expectFailure(sandbox: Sandbox, base: string, document: ShownDocument, code: string) {
  expect(document).toMatchObject({ status: 'failed', chunk_count: 0, error: { code } });
  expect(document.error?.message).toMatch(/^[A-Z].{10,}[^.]$/);
  await processed(sandbox, base, { name: 'good.txt', content: 'The good one' });
  const found = await search(sandbox, base, 'good one');
  expect(found.map(({ document_name: name }) => name)).toEqual(['good.txt']);
}

describe('a file fails', () => {
  // One for all: what fails harms none of the next. A thread that goes on is not started again, which takes longest.
  const shared = sandboxForTests();

  test.each<[string, string, { name: string; content: string | Uint8Array<ArrayBuffer>; type?: string }]>([
    ['without a byte', 'empty', { name: 'a.txt', content: '' }],
    ['of blanks', 'empty', { name: 'a.md', content: ' \n\n' }],
    ['of another type', 'unsupported_type', { name: 'a.png', content: '\x89PNG', type: 'image/png' }],
    ['without a type', 'unsupported_type', { name: 'README', content: 'Text' }],
    ['that is a broken PDF', 'broken', { name: 'a.pdf', content: bytesOf(pdfOf(['Line']).subarray(0, 200)) }],
    ['that is only called a PDF', 'broken', { name: 'a.pdf', content: 'Text' }],
    ['that is a PDF and is called a text', 'broken', { name: 'a.txt', content: bytesOf(pdfOf(['Line'])) }],
    ['with a password', 'encrypted', { name: 'a.pdf', content: bytesOf(encryptedPdf()) }],
    ['that is no archive', 'broken', { name: 'a', content: 'Text', type: docx }],
    [
      'that unpacks to much more than it is',
      'too_large',
      { name: 'a.docx', content: bytesOf(zipOf(docxFiles(paragraph('a'.repeat(60 * megabyte))))) },
    ],
    ['of more than 20 MB', 'too_large', { name: 'a.txt', content: 'a'.repeat(20 * megabyte + 1) }],
    ['of more text than is read', 'too_large', { name: 'a.txt', content: 'a'.repeat(5_000_001) }],
  ])('%s: %s', async (_, code, file) => {
    const sandbox = shared();
    const base = await createdKnowledgeBase(sandbox);
    await expectFailure(sandbox, base, await processed(sandbox, base, file), code);
  });

  test('that would be cut into too many chunks', async () => {
    const sandbox = shared();
    const base = await createdKnowledgeBase(sandbox, { chunk_size: 1, chunk_overlap: 0 });
    const file = { name: 'a.txt', content: 'a '.repeat(10_001) };
    const document = await processed(sandbox, base, file);
    expect(document.error?.code).toBe('too_many_chunks');
  });
});

test('a file whose chunks repeat nearly everything fails', async () => {
  const sandbox = await startedSandbox();
  const base = await createdKnowledgeBase(sandbox, {
    chunking_strategy: 'fixed_size',
    chunk_size: 8_191,
    chunk_overlap: 8_190,
  });
  // Each row of dashes is a token, longer than any word: few chunks have too many characters.
  const content = ` ${'-'.repeat(96)}`.repeat(8_225);
  const document = await processed(sandbox, base, { name: 'a.txt', content });
  expect(document.error).toMatchObject({
    code: 'too_many_chunks',
    message: expect.stringContaining('overlap'),
  });
});

test('a form that is refused is read to its end: its connection takes the next request', async () => {
  const sandbox = await startedSandbox();
  // The parser is loaded for the first form, and what arrives meanwhile is kept elsewhere.
  await processed(sandbox, 'kb_demonstration', { name: 'a.txt', content: 'Text' });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const headers = {
    authorization: `Bearer ${sandbox.apiKey}`,
    'content-type': 'multipart/form-data; boundary=b',
  };
  const url = `${sandbox.url}${knowledgeBasePath}/kb_demonstration/documents`;
  const sent = http.request(`${url}/file`, { agent, method: 'POST', headers });
  sent.end(`--b\r\nX: ${'a'.repeat(32 * megabyte)}`);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  expect(answer.resume().statusCode).toBe(422);
  const next = http.request(url, { agent, headers }).end();
  const [listed] = (await once(next, 'response')) as [IncomingMessage];
  expect([listed.statusCode, next.socket === sent.socket]).toEqual([200, true]);
  listed.resume();
});

describe('an upload is refused with 422, and submits nothing', () => {
  const part = (name: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"; filename="a.txt"\r\n\r\nText\r\n`;

  test.each<[string, string, string]>([
    ['without a file', 'multipart/form-data; boundary=b', '--b--\r\n'],
    ['with a file in another field', 'multipart/form-data; boundary=b', `${part('document')}--b--\r\n`],
    ['that ends early', 'multipart/form-data; boundary=b', part('file').slice(0, -6)],
    ['without a boundary', 'multipart/form-data', `${part('file')}--b--\r\n`],
    ['of JSON', 'application/json', '{}'],
    ['of nothing', 'multipart/form-data; boundary=b', ''],
  ])('%s', async (_, type, body) => {
    const sandbox = await startedSandbox();
    const documents = `${knowledgeBasePath}/kb_demonstration/documents`;
    const { status, json } = await ask(sandbox, `POST ${documents}/file`, {
      body,
      headers: { 'content-type': type },
    });
    expect(status).toBe(422);
    expect(json).toMatchObject({ detail: [{ loc: expect.arrayContaining(['body']) }] });
    expect((await ask(sandbox, `GET ${documents}`)).json).toMatchObject({ documents: [] });
  });
});

describe('a page fails', () => {
  const shared = sandboxForTests();
  const redirectTo = (address: string) => (response: ServerResponse) =>
    void response.writeHead(302, { location: address }).end();

  test.each<[string, string, (response: ServerResponse) => void]>([
    [
      'with status 500',
      'refused',
      (response) => response.writeHead(500, { 'content-type': 'text/html' }).end('<p>Oops'),
    ],
    ['with status 404', 'refused', (response) => response.writeHead(404).end()],
    ['that redirects to another host', 'redirected_away', redirectTo('http://localhost:1/')],
    ['that redirects to a file', 'redirected_away', redirectTo('file:///etc/passwd')],
    ['that redirects to itself', 'redirected_away', redirectTo('/bad')],
    [
      'of another type',
      'unsupported_type',
      (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x'),
    ],
    [
      'without text',
      'empty',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p> </p>'),
    ],
    [
      'that breaks off',
      'unreachable',
      (response) =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'content-length': 9 })
          .write('<p>', () => response.destroy()),
    ],
    [
      'of more than 10 MB',
      'too_large',
      (response) =>
        response.writeHead(200, { 'content-type': 'text/plain' }).end('a'.repeat(10 * megabyte + 1)),
    ],
    ['where nothing answers', 'unreachable', (response) => response.destroy()],
  ])('%s: %s, and the other pages with it', async (_, code, answerBadly) => {
    const site = await website((request, response) => {
      if (request.url === '/bad') answerBadly(response);
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<p>The other page</p>');
    });
    const sandbox = shared();
    const base = await createdKnowledgeBase(sandbox);
    const id = queuedId(await crawl(sandbox, base, [`${site}/other`, `${site}/bad`]));
    await expectFailure(sandbox, base, await settled(sandbox, base, id), code);
  });

  test.each(['http://192.0.2.1/', 'http://[2001:db8::1]/', 'http://169.254.169.254/latest'])(
    'that is neither on loopback nor on a named host: %s',
    async (address) => {
      const sandbox = shared();
      const id = queuedId(await crawl(sandbox, 'kb_demonstration', [address]));
      const document = await settled(sandbox, 'kb_demonstration', id);
      expect(document.error?.code).toBe('not_allowed');
    },
  );

  test('whose website does not answer in time, while others are processed', async () => {
    const clock = new ManualClock();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const site = await website(() => resolve());
    const sandbox = await startedSandbox({ clock });
    const base = await createdKnowledgeBase(sandbox);
    const id = queuedId(await crawl(sandbox, base, [`${site}/?token=secret`]));
    await asked;
    expect((await processed(sandbox, base, { name: 'a.txt', content: 'Text' })).status).toBe('completed');
    clock.advance(60_000);
    const document = await settled(sandbox, base, id);
    expect(document.error?.code).toBe('unreachable');
    expect(document.error?.message).not.toContain('secret');
  });
});
