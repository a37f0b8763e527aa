import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { ask, keys, startedSandbox } from './tenants.ts';
import { indexOf, sitemapOf, startedWebsite } from './website.ts';

const path = '/api/v1/knowledge-bases/documents/website/sitemaps';
const query = (address: string) => `${path}?url=${encodeURIComponent(address)}`;

/** How long the sandbox searches one website, in milliseconds. */
const timeout = 10_000;

async function linksOn(website: { readonly url: string }): Promise<readonly string[]> {
  const { json } = await ask(await startedSandbox(), `GET ${query(website.url)}`);
  return json.links;
}

/** A page that is not answered until the test does so, and the response that waits for that. */
function silence() {
  const reached = Promise.withResolvers<ServerResponse>();
  return { page: (response: ServerResponse) => reached.resolve(response), reached: reached.promise };
}

test.each([
  'http://192.0.2.1/',
  'http://10.0.0.1:8080',
  'http://169.254.169.254/latest/meta-data',
  'https://192.168.1.1',
  'http://0.0.0.0:80',
  'http://3232235777/',
  'http://[::]/',
  'http://[fe80::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
])('%s is not looked at', async (address) => {
  const { status, json } = await ask(await startedSandbox(), `GET ${query(address)}`);
  expect(status).toBe(400);
  expect(json).toStrictEqual({
    error: 'website_not_allowed',
    message: expect.stringContaining('loopback'),
  });
});

test('a host name that leads to loopback is allowed', async () => {
  const website = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf('https://shop.example.com/a') }));
  const url = website.url.replace('127.0.0.1', 'localhost');
  expect(await linksOn({ url })).toEqual(['https://shop.example.com/a']);
});

test('a website where nothing listens is reported as such', async () => {
  const { status, json } = await ask(await startedSandbox(), `GET ${query('http://127.0.0.1:1')}`);
  expect(status).toBe(404);
  expect(json).toStrictEqual({ error: 'website_unreachable', message: 'The website does not answer' });
});

test('redirects are followed on the website, and nowhere else', async () => {
  const elsewhere = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf('https://shop.example.com/a') }));
  const to = (location: string) => (response: ServerResponse) =>
    void response.writeHead(302, { location }).end();
  const website = await startedWebsite((url) => ({
    '/robots.txt': to('/moved.txt'),
    '/moved.txt': [
      `Sitemap: ${url}/here.xml`,
      `Sitemap: ${url}/there.xml`,
      `Sitemap: ${url}/circle.xml`,
      `Sitemap: ${url}/nowhere.xml`,
      `Sitemap: ${elsewhere.url}/sitemap.xml`,
      `Sitemap: ${url}/index.xml`,
    ].join('\n'),
    '/here.xml': to(`${url}/target.xml`),
    '/target.xml': sitemapOf('https://shop.example.com/b'),
    '/there.xml': to(`${elsewhere.url}/sitemap.xml`),
    '/circle.xml': to('/circle.xml'),
    '/nowhere.xml': to('http://'),
    '/index.xml': indexOf(`${elsewhere.url}/sitemap.xml`),
  }));
  expect(await linksOn(website)).toEqual(['https://shop.example.com/b']);
  expect(elsewhere.asked).toEqual([]);
  expect(website.asked.filter((asked) => asked === '/circle.xml')).toHaveLength(4);
});

test('indexes that name themselves and each other are read once', async () => {
  const website = await startedWebsite((url) => ({
    '/sitemap.xml': indexOf(`${url}/sitemap.xml`, `${url}/other.xml`, `${url}/pages.xml`),
    '/other.xml': indexOf(`${url}/sitemap.xml`, `${url}/other.xml#again`, `${url}/pages.xml`),
    '/pages.xml': sitemapOf('https://shop.example.com/a'),
  }));
  expect(await linksOn(website)).toEqual(['https://shop.example.com/a']);
  const usual = ['/robots.txt', '/sitemap.xml', '/sitemap_index.xml'];
  expect(website.asked).toEqual([...usual, '/other.xml', '/pages.xml']);
});

test('an index without end is left after three steps', async () => {
  const website = await startedWebsite((url) => {
    const steps = [1, 2, 3, 4, 5].map((step) => [`/step${step}.xml`, indexOf(`${url}/step${step + 1}.xml`)]);
    return { ...Object.fromEntries(steps), '/sitemap.xml': indexOf(`${url}/step1.xml`) };
  });
  expect(await linksOn(website)).toEqual([]);
  expect(website.asked).toContain('/step3.xml');
  expect(website.asked).not.toContain('/step4.xml');
});

test('of a thousand sitemaps fifty are read', async () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => index);
  const website = await startedWebsite((url) => {
    const sitemaps = numbers.map((number) => [
      `/${number}.xml`,
      sitemapOf(`https://shop.example.com/${number}`),
    ]);
    const robots = numbers.map((number) => `Sitemap: ${url}/${number}.xml`).join('\n');
    return { ...Object.fromEntries(sitemaps), '/robots.txt': robots };
  });
  expect(await linksOn(website)).toHaveLength(50);
  expect(website.asked).toHaveLength(51);
});

test('fifty thousand links are given, however many there are', { tags: 'long' }, async () => {
  const locations = Array.from({ length: 60_000 }, (_, index) => `https://shop.example.com/${index}`);
  const website = await startedWebsite((url) => ({
    '/robots.txt': `Sitemap: ${url}/1.xml\nSitemap: ${url}/2.xml\nSitemap: ${url}/3.xml`,
    '/1.xml': sitemapOf(...locations.slice(0, 40_000)),
    '/2.xml': sitemapOf(...locations.slice(40_000)),
    '/3.xml': sitemapOf('https://shop.example.com/last'),
  }));
  expect(await linksOn(website)).toEqual(locations.slice(0, 50_000));
  expect(website.asked).toEqual(['/robots.txt', '/1.xml', '/2.xml']);
});

test('an archive that unpacks to more than ten megabytes is passed over', { tags: 'long' }, async () => {
  const bomb = gzipSync(
    Buffer.concat([Buffer.from(sitemapOf('https://shop.example.com/a')), Buffer.alloc(20_000_000)]),
  );
  expect(bomb.byteLength).toBeLessThan(100_000);
  const website = await startedWebsite(() => ({
    '/sitemap.xml': bomb,
    '/sitemap_index.xml': sitemapOf('https://shop.example.com/b'),
  }));
  expect(await linksOn(website)).toEqual(['https://shop.example.com/b']);
});

test.each([
  ['sitemap', 200],
  ['error page', 500],
])('a %s without end is left', async (_, status) => {
  const left = Promise.withResolvers<void>();
  const website = await startedWebsite(() => ({
    '/sitemap.xml': (response) => {
      response.on('close', left.resolve);
      response.writeHead(status);
      response.write(sitemapOf('https://shop.example.com/a'));
      const chunk = Buffer.alloc(100_000, ' ');
      const writeOn = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', writeOn);
      writeOn();
    },
    '/sitemap_index.xml': sitemapOf('https://shop.example.com/b'),
  }));
  expect(await linksOn(website)).toEqual(['https://shop.example.com/b']);
  await left.promise;
});

test('a website that does not answer is given up after ten seconds', async () => {
  const clock = new ManualClock();
  const { page, reached } = silence();
  const website = await startedWebsite(() => ({ '/robots.txt': page }));
  const asked = ask(await startedSandbox({ clock }), `GET ${query(website.url)}`);
  await reached;
  clock.advance(timeout);
  const { status, json } = await asked;
  expect([status, json.error]).toEqual([404, 'website_unreachable']);
});

test('links found before the timeout are returned', async () => {
  const clock = new ManualClock();
  const { page, reached } = silence();
  const website = await startedWebsite(() => ({
    '/sitemap.xml': sitemapOf('https://shop.example.com/a'),
    '/sitemap_index.xml': page,
  }));
  const asked = ask(await startedSandbox({ clock }), `GET ${query(website.url)}`);
  await reached;
  clock.advance(timeout);
  expect((await asked).json).toEqual({ success: true, links: ['https://shop.example.com/a'] });
});

test('the ten seconds are real time at any speed', async () => {
  const clock = new ManualClock();
  const { page, reached } = silence();
  const website = await startedWebsite(() => ({ '/sitemap.xml': page }));
  const asked = ask(await startedSandbox({ clock, speed: 1_000 }), `GET ${query(website.url)}`);
  const response = await reached;
  clock.advance(timeout - 1);
  response.end(sitemapOf('https://shop.example.com/a'));
  expect((await asked).json.links).toEqual(['https://shop.example.com/a']);
});

test('a client that disconnects ends the discovery', async () => {
  const { page, reached } = silence();
  const website = await startedWebsite(() => ({ '/robots.txt': page }));
  // With a manual clock, the search of the website is never timed out.
  const sandbox = await startedSandbox({ clock: new ManualClock() });
  const headers = { authorization: `Bearer ${keys.ada}` };
  const leaving = new AbortController();
  const asked = fetch(`${sandbox.url}${query(website.url)}`, { headers, signal: leaving.signal });
  const response = await reached;
  leaving.abort();
  await expect(asked).rejects.toThrow('abort');
  if (!response.destroyed) await once(response, 'close');
});
