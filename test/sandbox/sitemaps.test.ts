import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { switchProtocols } from '../support/servers.ts';
import { ask, startedSandbox } from './tenants.ts';
import { type Page, indexOf, sitemapOf, startedWebsite } from './website.ts';

const path = '/api/v1/knowledge-bases/documents/website/sitemaps';

/** The links that the sandbox finds on a website. */
async function linksOn(website: { readonly url: string }): Promise<readonly string[]> {
  const sandbox = await startedSandbox();
  const { status, json } = await ask(sandbox, `GET ${path}?url=${encodeURIComponent(website.url)}`);
  expect([status, Object.keys(json), json.success]).toEqual([200, ['success', 'links'], true]);
  return json.links;
}

/** The links that the sandbox finds in one document at the usual place. */
async function linksIn(document: Page): Promise<readonly string[]> {
  return linksOn(await startedWebsite(() => ({ '/sitemap.xml': document })));
}

test('the sitemaps that robots.txt names are read, in its order', async () => {
  const website = await startedWebsite((url) => ({
    '/robots.txt': [
      'User-agent: *',
      'Disallow: /admin',
      `Sitemap: ${url}/second.xml # the main one`,
      `  sitemap:${url}/first.xml\r`,
      `Not-a-sitemap: ${url}/third.xml`,
    ].join('\n'),
    '/first.xml': sitemapOf('https://shop.example.com/a', 'https://shop.example.com/b'),
    '/second.xml': sitemapOf('https://shop.example.com/c', 'https://shop.example.com/a'),
    '/third.xml': sitemapOf('https://shop.example.com/d'),
    '/sitemap.xml': sitemapOf('https://shop.example.com/e'),
  }));
  expect(await linksOn(website)).toEqual([
    'https://shop.example.com/c',
    'https://shop.example.com/a',
    'https://shop.example.com/b',
  ]);
  expect(website.asked).toEqual(['/robots.txt', '/second.xml', '/first.xml']);
});

test.each([
  ['there is no robots.txt', undefined],
  ['robots.txt names none', 'User-agent: *'],
  ['robots.txt names those of another address', 'Sitemap: https://shop.example.com/sitemap.xml'],
])('the usual places are tried where %s', async (_, robots) => {
  const website = await startedWebsite(() => ({
    ...(robots !== undefined && { '/robots.txt': robots }),
    '/sitemap.xml': sitemapOf('https://shop.example.com/a'),
    '/sitemap_index.xml': sitemapOf('https://shop.example.com/b'),
  }));
  expect(await linksOn(website)).toEqual(['https://shop.example.com/a', 'https://shop.example.com/b']);
});

test('a website that publishes nothing has no links', async () => {
  expect(await linksOn(await startedWebsite(() => ({})))).toEqual([]);
});

test('indexes are followed, and sitemaps unpacked', async () => {
  const packed = gzipSync(sitemapOf('https://shop.example.com/packed'));
  const website = await startedWebsite((url) => ({
    '/sitemap.xml': indexOf(`${url}/pages.xml.gz`, `${url}/deeper.xml`, `${url}/encoded.xml`),
    '/pages.xml.gz': packed,
    '/deeper.xml': gzipSync(indexOf(`${url}/deepest.xml`)),
    '/deepest.xml': sitemapOf('https://shop.example.com/deepest'),
    '/encoded.xml': (response) => response.setHeader('content-encoding', 'gzip').end(packed),
  }));
  expect(await linksOn(website)).toEqual([
    'https://shop.example.com/packed',
    'https://shop.example.com/deepest',
  ]);
});

test('locations are read as XML writes them', async () => {
  const links = await linksIn(`\u{FEFF}<?xml version="1.0"?>
    <!-- <urlset><url><loc>https://shop.example.com/comment</loc></url></urlset> -->
    <!DOCTYPE urlset [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
    <s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://example.com/image">
      <s:url><s:loc>
        https://shop.example.com/a?b=1&amp;c=&#50;&amp;d=&#x33;
      </s:loc><s:lastmod>2026-01-01</s:lastmod>
        <image:image><image:loc>https://shop.example.com/image.png</image:loc></image:image>
      </s:url>
      <s:url><s:loc><![CDATA[https://shop.example.com/e?f=1&g=<2>&amp;]]></s:loc></s:url>
      <s:url><s:loc>https://shop.example.com/<!-- comment -->h</s:loc></s:url>
      <s:url><s:loc>https://shop.example.com/&secret;&#1114112;&#99999999;</s:loc></s:url>
      <s:url><s:loc/></s:url><s:url><s:loc></s:loc></s:url>
      <s:url><s:loc>https://shop.example.com/i</s:loc></s:url>
    </s:urlset>`);
  expect(links).toEqual([
    'https://shop.example.com/a?b=1&c=2&d=3',
    'https://shop.example.com/e?f=1&g=<2>&amp;',
    'https://shop.example.com/h',
    'https://shop.example.com/&secret;&#1114112;&#99999999;',
    'https://shop.example.com/i',
  ]);
});

test('only web addresses are links', async () => {
  const links = await linksIn(
    sitemapOf('/relative', 'javascript:alert(1)', 'ftp://a/b', 'http://', 'no address', 'HTTP://A.example/b'),
  );
  expect(links).toEqual(['HTTP://A.example/b']);
});

test.each<[string, Page]>([
  ['a page', '<!doctype html><html><body><loc>https://shop.example.com/a</loc></body></html>'],
  ['a page with status 200 for everything', '<html>'],
  ['noise', Uint8Array.from({ length: 5_000 }, (_, index) => (index * 7919) % 256)],
  ['a broken archive', gzipSync(sitemapOf('https://shop.example.com/a')).subarray(0, 60)],
  ['nothing', ''],
  ['another root', '<constructor><loc>https://shop.example.com/a</loc></constructor>'],
  [
    'an answer that breaks off',
    (response) => void response.writeHead(200, { 'content-length': 9 }).write('<', () => response.destroy()),
  ],
  ['no answer', (response) => void response.destroy()],
  ['another protocol', switchProtocols],
  ['an error', (response) => void response.writeHead(500).end(sitemapOf('https://shop.example.com/a'))],
])('%s instead of a sitemap is passed over', async (_, document) => {
  const website = await startedWebsite(() => ({
    '/sitemap.xml': document,
    '/sitemap_index.xml': sitemapOf('https://shop.example.com/b'),
  }));
  expect(await linksOn(website)).toEqual(['https://shop.example.com/b']);
});

test('of a sitemap that breaks off counts what came before', async () => {
  const document = '<urlset><url><loc>https://shop.example.com/a</loc></url><url><loc>https://shop.exam';
  expect(await linksIn(document)).toEqual(['https://shop.example.com/a']);
});

test('without a key, no website is fetched', async () => {
  const website = await startedWebsite(() => ({}));
  const sandbox = await startedSandbox();
  const { status, json } = await ask(sandbox, `GET ${path}?url=${website.url}`, { key: 'key_of_nobody' });
  expect([status, Object.keys(json)]).toEqual([401, ['error', 'message']]);
  expect(website.asked).toEqual([]);
});

test('the parameter has the name that was set', async () => {
  const website = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf('https://shop.example.com/a') }));
  const sandbox = await startedSandbox({ websiteParameter: 'base_url' });
  const right = await ask(sandbox, `GET ${path}?base_url=${website.url}`);
  expect(right.json.links).toEqual(['https://shop.example.com/a']);
  const wrong = await ask(sandbox, `GET ${path}?url=${website.url}`);
  expect([wrong.status, wrong.json.detail[0]?.loc]).toEqual([422, ['query', 'base_url']]);
});

test.each([
  ['no address', '', 'missing'],
  ['an empty address', '?url=', 'invalid_format'],
  ['two addresses', '?url=http://127.0.0.1:1&url=http://127.0.0.1:2', 'invalid_type'],
  ['no address of the web', '?url=file:///etc/hostname', 'invalid_format'],
  ['rubbish', '?url=%00%ff', 'invalid_format'],
  ['an endless address', `?url=http://127.0.0.1:1/${'a'.repeat(2_048)}`, 'too_big'],
])('%s is not valid', async (_, query, type) => {
  const { status, json } = await ask(await startedSandbox(), `GET ${path}${query}`);
  expect(status).toBe(422);
  expect(json).toStrictEqual({ detail: [{ loc: ['query', 'url'], msg: expect.stringMatching(/./), type }] });
});

test('nothing of what is found is stored: a knowledge base is the same as before', async () => {
  const website = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf('https://shop.example.com/a') }));
  const sandbox = await startedSandbox();
  const stored = async () => (await ask(sandbox, 'GET /api/v1/knowledge-bases/kb_plain')).text;
  const before = await stored();
  const { json } = await ask(sandbox, `GET ${path}?url=${website.url}`);
  expect(json.links).toHaveLength(1);
  expect(await stored()).toBe(before);
  expect(website.asked).not.toContain('/a');
});
