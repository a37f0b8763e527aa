import { createServer } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ask, startedSandbox } from '../support.ts';
import {
  type AnsweredDocument,
  crawl,
  createdKnowledgeBase,
  knowledgeBasePath,
  processed,
  queuedId,
  search,
  settled,
  upload,
} from './library.ts';

const demonstration = 'kb_demonstration';

/** A website on loopback until the test ends: its pages, by their paths. Returns its address. */
async function website(pages: Readonly<Record<string, string>>): Promise<string> {
  const server = createServer((request, response) => {
    const page = pages[request.url ?? ''];
    if (page === undefined) response.writeHead(404).end();
    else
      response
        .writeHead(200, { 'content-type': page.startsWith('<?xml') ? 'text/xml' : 'text/html' })
        .end(page);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a file is found once its document is completed, and not before', async () => {
  const sandbox = await startedSandbox();
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  sandbox.fail('knowledge-bases.ingest', 1, { delay: '300ms' });
  const answer = await upload(sandbox, knowledgeBase, {
    name: 'opening.txt',
    content: 'We open at nine on Mondays.',
  });
  expect(answer.status).toBe(202);
  expect(answer.json).toMatchObject({
    name: 'opening.txt',
    source: 'file',
    size: 27,
    error: null,
    chunk_count: 0,
  });
  expect(['queued', 'processing']).toContain((answer.json as AnsweredDocument).status);
  expect(await search(sandbox, knowledgeBase, 'When do you open on Mondays?')).toEqual([]);
  const whole = await ask(sandbox, `GET ${knowledgeBasePath}/${knowledgeBase}`);
  expect(whole.json).toMatchObject({ document_count: 1, status: 'processing' });

  const document = await settled(sandbox, knowledgeBase, queuedId(answer));
  expect(document).toMatchObject({ status: 'completed', error: null, chunk_count: 1 });
  const [found] = await search(sandbox, knowledgeBase, 'When do you open on Mondays?');
  expect(found).toStrictEqual({
    document_id: document.document_id,
    document_name: 'opening.txt',
    text: 'We open at nine on Mondays.',
    score: expect.closeTo(0.5, 0),
  });
  const after = await ask(sandbox, `GET ${knowledgeBasePath}/${knowledgeBase}`);
  expect(after.json).toMatchObject({ document_count: 1, status: 'completed' });
});

test('from a website’s addresses to a search result: discovered, crawled, queued, completed, found', async () => {
  const pages: Record<string, string> = {};
  const origin = await website(pages);
  pages['/sitemap.xml'] =
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${origin}/returns</loc></url><url><loc>${origin}/hours</loc></url></urlset>`;
  pages['/returns'] = '<title>Returns</title><p>Shoes can be returned within thirty days.</p>';
  pages['/hours'] = '<title>Hours</title><p>The shop is open until six in the evening.</p>';
  const sandbox = await startedSandbox();
  const discovered = await ask(sandbox, `GET ${knowledgeBasePath}/documents/website/sitemaps?url=${origin}`);
  const { links } = discovered.json as { links: readonly string[] };
  expect(links).toEqual([`${origin}/returns`, `${origin}/hours`]);

  const first = await settled(sandbox, demonstration, queuedId(await crawl(sandbox, demonstration, links)));
  expect(first).toMatchObject({ status: 'completed', source: 'website', urls: links, chunk_count: 2 });
  const question = 'How long can shoes be returned?';
  const [found] = await search(sandbox, demonstration, question);
  expect(found).toMatchObject({
    document_id: first.document_id,
    text: expect.stringContaining('thirty days'),
  });

  // The same again is a second document, and the first one stays.
  const second = await settled(sandbox, demonstration, queuedId(await crawl(sandbox, demonstration, links)));
  expect(second.document_id).not.toBe(first.document_id);
  const both = await search(sandbox, demonstration, question, 2);
  expect(both.map(({ document_id: id }) => id).toSorted()).toEqual(
    [first.document_id, second.document_id].toSorted(),
  );

  const path = `${knowledgeBasePath}/${demonstration}/documents`;
  expect((await ask(sandbox, `DELETE ${path}/${first.document_id}`)).status).toBe(204);
  const left = await search(sandbox, demonstration, question, 2);
  expect(left.filter(({ document_id: id }) => id === first.document_id)).toEqual([]);
  const { json } = await ask(sandbox, `GET ${path}`);
  expect(json).toMatchObject({ documents: [{ document_id: second.document_id }], next_page_token: null });
});

test('a document whose text is found goes with its knowledge base', async () => {
  const sandbox = await startedSandbox();
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  await processed(sandbox, knowledgeBase, { name: 'a.md', content: '# Parking\n\nBehind the house.' });
  expect(await search(sandbox, knowledgeBase, 'parking')).toHaveLength(1);
  expect((await ask(sandbox, `DELETE ${knowledgeBasePath}/${knowledgeBase}`)).status).toBe(204);
  expect((await ask(sandbox, `GET ${knowledgeBasePath}/${knowledgeBase}`)).status).toBe(404);
});
