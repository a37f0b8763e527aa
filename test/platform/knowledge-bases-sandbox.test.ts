import { describe, expect, it, test } from 'vitest';
import { type Documents, createPlatform } from '../../src/platform/index.ts';
import { sitemapOf, startedWebsite } from '../sandbox/website.ts';
import { ManualClock } from '../support/clock.ts';
import { apiKey, everything, otherKey, platformError, sandboxAndPlatform } from './support.ts';

/** The sandbox processes a document in some hundredths of a second. */
const soon = { interval: '10ms' } as const;
const prices = { name: 'prices.md', content: '# Prices\n\nA repair of the bicycle costs 40 euros.' };
const dearer = { name: 'prices.md', content: '# Prices\n\nA repair of the bicycle costs 55 euros.' };

const page = (text: string) =>
  `<!doctype html><title>Help</title><main><h1>Help</h1><p>${text} ${'It is said at length. '.repeat(20)}</p></main>`;

describe('a knowledge base of the sandbox', () => {
  it('is created, found, changed, listed and deleted', async () => {
    const { platform } = await sandboxAndPlatform();
    const { knowledgeBases } = platform;
    const created = await knowledgeBases.create({
      name: 'Help',
      description: 'All of it',
      document_language: 'de',
      chunking_strategy: 'sentence',
      chunk_size: 128,
      chunk_overlap: 0,
      workspace_id: 'workspace_1',
    });
    expect(created).toMatchObject({
      name: 'Help',
      chunk_size: 128,
      embedding_model: 'text-embedding-3-large',
    });
    expect(await knowledgeBases.get(created.id)).toEqual(created);

    const changed = await knowledgeBases.update(created.id, { name: 'More help' });
    expect(changed).toMatchObject({ id: created.id, name: 'More help', description: null, chunk_size: 512 });
    const otherModel = { name: 'Help', embedding_model: 'text-embedding-3-small' };
    expect(await platformError(knowledgeBases.update(created.id, otherModel))).toMatchObject({
      status: 422,
      code: 'HTTPValidationError',
    });

    const names = (await everything(knowledgeBases.list({ pageSize: 1 }))).map(({ name }) => name);
    expect(names).toEqual(['Handbook', 'Prices', 'More help']);
    await knowledgeBases.delete(created.id);
    expect(await platformError(knowledgeBases.get(created.id))).toMatchObject({ status: 404 });
  });

  it("is not another tenant's", async () => {
    const { sandbox } = await sandboxAndPlatform();
    const { knowledgeBases, documents } = createPlatform({ baseUrl: sandbox.url, apiKey: otherKey });
    expect(await everything(knowledgeBases.list())).toEqual([]);
    const unowned = { status: 404, code: 'not_found' };
    expect(await platformError(knowledgeBases.search('kb_1', 'a'))).toMatchObject(unowned);
    expect(await platformError(documents.upload('kb_1', prices))).toMatchObject(unowned);
  });

  it('learns a website: discovered, chosen, crawled, completed, searched', { tags: 'long' }, async () => {
    const site = await startedWebsite((url) => ({
      '/sitemap.xml': sitemapOf(`${url}/help/prices.html`, `${url}/help/times.html`, `${url}/jobs.html`),
      '/help/prices.html': page('A repair of the bicycle costs 40 euros.'),
      '/help/times.html': page('The workshop opens at nine on Mondays.'),
    }));
    const { platform } = await sandboxAndPlatform();
    const { links } = await platform.websites.sitemaps(site.url);
    const chosen = links.filter((link) => new URL(link).pathname.startsWith('/help/'));
    const { id } = await platform.knowledgeBases.create({ name: 'Help' });
    const { document_id, urls } = await platform.documents.crawl(id, chosen);
    expect(urls).toEqual(chosen);
    const document = await platform.documents.completed(id, document_id, soon);
    expect(document).toMatchObject({ document_id, status: 'completed', source: 'website' });
    const { results } = await platform.knowledgeBases.search(id, 'What does a repair cost?', { limit: 1 });
    expect(results).toEqual([
      {
        document_id,
        document_name: chosen[0],
        text: expect.stringContaining('costs 40 euros'),
        score: expect.any(Number),
      },
    ]);
    expect(await platform.knowledgeBases.get(id)).toMatchObject({ document_count: 1, status: 'completed' });
  });
});

describe('a document of the sandbox', () => {
  it('is uploaded, completed, found, refreshed and deleted', { tags: 'long' }, async () => {
    const { platform } = await sandboxAndPlatform();
    const { documents } = platform;
    const found = async () => {
      const { results } = await platform.knowledgeBases.search('kb_1', 'What does a repair cost?');
      return results.map(({ document_id, text }) => [document_id, /\d+ euros/.exec(String(text))?.[0]]);
    };
    const { document_id: old } = await documents.upload('kb_1', prices);
    await documents.completed('kb_1', old, soon);
    expect(await found()).toEqual([[old, '40 euros']]);

    const { document_id: fresh } = await documents.refresh('kb_1', old, dearer);
    expect(fresh).not.toBe(old);
    expect(await platformError(documents.completed('kb_1', old))).toMatchObject({ status: 404 });
    await documents.completed('kb_1', fresh, soon);
    expect(await found()).toEqual([[fresh, '55 euros']]);

    expect((await everything(documents.list('kb_1'))).map(({ document_id }) => document_id)).toEqual([fresh]);
    await documents.delete('kb_1', fresh);
    expect(await found()).toEqual([]);
    expect(await platformError(documents.refresh('kb_1', fresh, prices))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect(await everything(documents.list('kb_1'))).toEqual([]);
  });

  it.each(['Preise für März.md', '価格.md', 'a; b=c.md'])('keeps its name: %s', async (name) => {
    const { platform } = await sandboxAndPlatform();
    expect(await platform.documents.upload('kb_1', { ...prices, name })).toMatchObject({ name });
  });

  it('that can not be read has failed, for the reason that the sandbox gives', async () => {
    const { platform } = await sandboxAndPlatform();
    const content = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256);
    const { document_id, size } = await platform.documents.upload('kb_1', { name: 'a.xyz', content });
    expect(size).toBe(1_000);
    const error = await platformError(platform.documents.completed('kb_1', document_id, soon));
    expect(error).toMatchObject({
      code: 'ingestion_failed',
      details: { code: expect.any(String), message: expect.any(String) },
    });
    const { error: reason } = await platform.documents.get('kb_1', document_id);
    expect(error.details).toEqual(reason);
  });

  it('that takes its time is not ready', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    sandbox.fail('knowledge-bases.ingest', 1, { delay: '10s' });
    const { document_id } = await platform.documents.upload('kb_1', prices);
    expect(
      await platformError(platform.documents.completed('kb_1', document_id, { timeout: 0 })),
    ).toMatchObject({ code: 'not_ready' });
  });
});

describe.each<[string, (documents: Documents) => Promise<unknown>]>([
  ['upload', (documents) => documents.upload('kb_1', prices)],
  ['crawl', (documents) => documents.crawl('kb_1', ['http://127.0.0.1:9/'])],
])('documents.%s makes no second document', (operation, submit) => {
  test('after answers of 503', async () => {
    const { sandbox, platform } = await sandboxAndPlatform({ retry: { base: 0 } });
    sandbox.fail(`documents.${operation}`, 3, { retryAfter: 0 });
    await submit(platform.documents);
    expect(await everything(platform.documents.list('kb_1'))).toHaveLength(1);
  });

  test('without an answer, although it was carried out', async () => {
    const { sandbox, platform } = await sandboxAndPlatform();
    sandbox.fail(`documents.${operation}`, 1, { delay: '1h' });
    const clock = new ManualClock();
    const { documents } = createPlatform({ baseUrl: sandbox.url, apiKey, clock });
    const submitting = platformError(submit(documents));
    await expect.poll(() => everything(platform.documents.list('kb_1'))).toHaveLength(1);
    clock.advance(10_000);
    const error = await submitting;
    expect(error).toMatchObject({ code: 'timeout' });
    expect(error.message).toContain('Check with documents.list before you submit it again');
    expect(await everything(platform.documents.list('kb_1'))).toHaveLength(1);
  });
});
