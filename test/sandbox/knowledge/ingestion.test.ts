import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/clock.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { ask, sandboxForTests, startedSandbox } from '../support.ts';
import { crawl, createdKnowledgeBase, processed, queuedId, search, settled, upload } from './filling.ts';
import { type ShownDocument, knowledgeBasePath } from './knowledge-base-client.ts';
import { pages } from './website.ts';

const demonstration = 'kb_demonstration';

test('a file is found once its document is completed, and not before', { tags: 'long' }, async () => {
  const clock = new ManualClock();
  const sandbox = await startedSandbox({ clock });
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
  expect(['queued', 'processing']).toContain((answer.json as ShownDocument).status);
  expect(await search(sandbox, knowledgeBase, 'When do you open on Mondays?')).toEqual([]);
  const whole = await ask(sandbox, `GET ${knowledgeBasePath}/${knowledgeBase}`);
  expect(whole.json).toMatchObject({ document_count: 1, status: 'processing' });

  await clock.timer(300);
  clock.advance(300);
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

test(
  'from a website’s addresses to a search result: discovered, crawled, queued, completed, found',
  { tags: 'long' },
  async () => {
    const site: Record<string, string> = {
      '/returns': '<title>Returns</title><p>Shoes can be returned within thirty days.</p>',
      '/hours': '<title>Hours</title><p>The shop is open until six in the evening.</p>',
    };
    const origin = await pages(site);
    const urls = Object.keys(site).map((path) => `<url><loc>${origin}${path}</loc></url>`);
    const namespace = 'http://www.sitemaps.org/schemas/sitemap/0.9';
    site['/sitemap.xml'] = `<?xml version="1.0"?><urlset xmlns="${namespace}">${urls.join('')}</urlset>`;
    const sandbox = await startedSandbox();
    const discovered = await ask(
      sandbox,
      `GET ${knowledgeBasePath}/documents/website/sitemaps?url=${origin}`,
    );
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
    const second = await settled(
      sandbox,
      demonstration,
      queuedId(await crawl(sandbox, demonstration, links)),
    );
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
  },
);

test('a document whose text is found goes with its knowledge base', { tags: 'long' }, async () => {
  const sandbox = await startedSandbox();
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  await processed(sandbox, knowledgeBase, { name: 'a.md', content: '# Parking\n\nBehind the house.' });
  expect(await search(sandbox, knowledgeBase, 'parking')).toHaveLength(1);
  expect((await ask(sandbox, `DELETE ${knowledgeBasePath}/${knowledgeBase}`)).status).toBe(204);
  expect((await ask(sandbox, `GET ${knowledgeBasePath}/${knowledgeBase}`)).status).toBe(404);
});

test('the same file again is a second document', { tags: 'long' }, async () => {
  const sandbox = await startedSandbox();
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  const file = { name: 'a.txt', content: 'The same text' };
  const first = await processed(sandbox, knowledgeBase, file);
  const second = await processed(sandbox, knowledgeBase, file);
  const found = await search(sandbox, knowledgeBase, 'same text');
  expect(found.map((result) => result.document_id)).toEqual([first.document_id, second.document_id]);
});

describe('each strategy', () => {
  const shared = sandboxForTests();
  const text = 'We open at nine. We close at six.\n\nShoes can be returned. Bring the bill.';

  test.each([
    ['fixed_size', ['We open at nine. We close', 'at six.\n\nShoes can be', 'returned. Bring the bill.']],
    ['sentence', ['We open at nine.', 'We close at six.', 'Shoes can be returned.', 'Bring the bill.']],
    ['paragraph', ['We open at nine. We close at six.', 'Shoes can be returned. Bring the bill.']],
    ['recursive', ['We open at nine. We close at six.', 'Shoes can be returned. Bring the bill.']],
  ])('cuts as it is called: %s', async (strategy, expected) => {
    const size = strategy === 'fixed_size' ? 7 : strategy === 'sentence' ? 6 : 12;
    const sandbox = shared();
    const fields = { chunking_strategy: strategy, chunk_size: size, chunk_overlap: 0 };
    const knowledgeBase = await createdKnowledgeBase(sandbox, fields);
    const { chunk_count: count } = await processed(sandbox, knowledgeBase, { name: 'a.txt', content: text });
    const found = await search(sandbox, knowledgeBase, text, 100);
    expect(found.map((result) => result.text).toSorted()).toEqual(expected.toSorted());
    expect(count).toBe(expected.length);
  });

  test('counts for what is processed later, and leaves what is there', async () => {
    const sandbox = shared();
    const knowledgeBase = await createdKnowledgeBase(sandbox);
    const file = { name: 'a.txt', content: text };
    const before = await processed(sandbox, knowledgeBase, file);
    const body = { name: 'Handbook', chunking_strategy: 'sentence', chunk_size: 6, chunk_overlap: 0 };
    await ask(sandbox, `PUT ${knowledgeBasePath}/${knowledgeBase}`, { body });
    const after = await processed(sandbox, knowledgeBase, file);
    expect([before.chunk_count, after.chunk_count]).toEqual([1, 4]);
    const path = `${knowledgeBasePath}/${knowledgeBase}/documents/${before.document_id}`;
    expect((await ask(sandbox, `GET ${path}`)).json).toStrictEqual(before);
  });
});

test('the documents of a seed are processed when the sandbox starts', async () => {
  const seed = {
    organizations: [
      {
        id: 'org_1',
        name: 'One',
        users: [{ id: 'user_1', name: 'Ada', keys: ['key_of_ada'] }],
        knowledge_bases: [
          { id: 'kb_1', name: 'Menu', documents: [{ name: 'soup.md', text: 'Soup of the *day*' }] },
        ],
      },
    ],
  };
  const sandbox = await startedSandbox({ seed });
  const key = 'key_of_ada';
  const read = async () => (await ask(sandbox, `GET ${knowledgeBasePath}/kb_1`, { key })).json;
  await expect.poll(read).toMatchObject({ status: 'completed', document_count: 1 });
  const body = { query: 'soup' };
  const { json } = await ask(sandbox, `POST ${knowledgeBasePath}/kb_1/search`, { key, body });
  expect(json).toMatchObject({ results: [{ document_name: 'soup.md', text: 'Soup of the day' }] });
});

test('what waits or is processed when the sandbox stops is completed after its next start', async () => {
  const database = temporaryDatabase();
  const sandbox = await startedSandbox({ database });
  const key = sandbox.apiKey ?? '';
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  // As many as are processed at once, and some that wait for them.
  sandbox.fail('knowledge-bases.ingest', 4, { delay: '1h' });
  const ids: string[] = [];
  for (let number = 0; number < 6; number += 1) {
    const file = { name: `${number}.txt`, content: `Table number ${number}` };
    ids.push(queuedId(await upload(sandbox, knowledgeBase, file)));
  }
  await sandbox.stop();

  const again = await startedSandbox({ database });
  for (const [number, id] of ids.entries()) {
    const document = await settled(again, knowledgeBase, id, key);
    expect(document).toMatchObject({ status: 'completed', name: `${number}.txt` });
  }
  expect(await search(again, knowledgeBase, 'table', 100, key)).toHaveLength(6);
});

test('a document that is deleted while it is processed is never found', { tags: 'long' }, async () => {
  const sandbox = await startedSandbox();
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  sandbox.fail('knowledge-bases.ingest', 1, { delay: '100ms' });
  const id = queuedId(await upload(sandbox, knowledgeBase, { name: 'a.txt', content: 'Never found' }));
  await ask(sandbox, `DELETE ${knowledgeBasePath}/${knowledgeBase}/documents/${id}`);
  await processed(sandbox, knowledgeBase, { name: 'b.txt', content: 'Found' });
  await sandbox.deliveries.settled();
  const found = await search(sandbox, knowledgeBase, 'found', 100);
  expect(found.map((result) => result.document_name)).toEqual(['b.txt']);
});

test('a demanded failure fails one document, and its message says so', { tags: 'long' }, async () => {
  const sandbox = await startedSandbox();
  const knowledgeBase = await createdKnowledgeBase(sandbox);
  sandbox.fail('knowledge-bases.ingest', 1);
  const failed = await processed(sandbox, knowledgeBase, { name: 'a.txt', content: 'Text' });
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'demanded' }, chunk_count: 0 });
  const { json } = await ask(sandbox, `GET ${knowledgeBasePath}/${knowledgeBase}`);
  expect(json).toMatchObject({ document_count: 1, status: 'failed' });
  const completed = await processed(sandbox, knowledgeBase, { name: 'a.txt', content: 'Text' });
  expect(completed.status).toBe('completed');
});

test(
  'words that few chunks have count more, and a document that is deleted counts no longer',
  { tags: 'long' },
  async () => {
    const sandbox = await startedSandbox();
    const knowledgeBase = await createdKnowledgeBase(sandbox);
    await processed(sandbox, knowledgeBase, { name: 'lasagne.txt', content: 'lasagne' });
    const tables: string[] = [];
    for (let number = 0; number < 10; number += 1) {
      const file = { name: `${number}.txt`, content: `table ${'abcdefghij'[number]}` };
      tables.push((await processed(sandbox, knowledgeBase, file)).document_id);
    }
    const [first] = await search(sandbox, knowledgeBase, 'table lasagne');
    expect(first?.document_name).toBe('lasagne.txt');
    const scoreOfLasagne = first?.score ?? 0;
    for (const id of tables.slice(1))
      await ask(sandbox, `DELETE ${knowledgeBasePath}/${knowledgeBase}/documents/${id}`);
    const [same] = await search(sandbox, knowledgeBase, 'lasagne table');
    expect(same?.score).toBeLessThan(scoreOfLasagne);
  },
);
