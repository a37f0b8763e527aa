import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { beforeEach, expect, test, vi } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { ask, startedSandbox } from './tenants.ts';
import { sitemapOf, startedWebsite } from './website.ts';

const path = '/api/v1/knowledge-bases/documents/website/sitemaps';

/** The addresses of each name, one list for each time that it is looked up. */
const answers = vi.hoisted(() => new Map<string, string[][]>());

// The test, and not the network, decides which addresses a name has.
vi.mock('node:dns', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:dns')>();
  const lookup = (
    name: string,
    options: LookupAllOptions,
    callback: (error: Error | null, addresses: LookupAddress[]) => void,
  ) => {
    const answer = answers.get(name);
    if (!answer) return original.lookup(name, options, callback);
    const addresses = answer.shift() ?? [];
    return setImmediate(() =>
      callback(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      ),
    );
  };
  return { ...original, lookup };
});

beforeEach(() => answers.clear());

test.each([
  ['elsewhere', ['192.0.2.1']],
  ['here and elsewhere', ['127.0.0.1', '192.0.2.1']],
])('a name that leads %s is not looked at', async (_, addresses) => {
  const website = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf('https://shop.example.com/a') }));
  answers.set('intranet.test', [addresses]);
  const url = website.url.replace('127.0.0.1', 'intranet.test');
  const { status, json } = await ask(await startedSandbox(), `GET ${path}?url=${url}`);
  expect([status, json.error]).toEqual([400, 'website_not_allowed']);
  expect(website.asked).toEqual([]);
});

test('a name that leads elsewhere the next time is followed no further', async () => {
  const website = await startedWebsite(() => ({
    '/sitemap.xml': sitemapOf('https://shop.example.com/a'),
    '/sitemap_index.xml': sitemapOf('https://shop.example.com/b'),
  }));
  answers.set('rebinding.test', [['127.0.0.1'], ['127.0.0.1'], ['192.0.2.1']]);
  const url = website.url.replace('127.0.0.1', 'rebinding.test');
  const { json } = await ask(await startedSandbox(), `GET ${path}?url=${url}`);
  expect(json.links).toEqual(['https://shop.example.com/a']);
  // Each connection was made to the address that was checked for it, and the name was not looked up again.
  expect(website.asked).toEqual(['/robots.txt', '/sitemap.xml']);
  expect(answers.get('rebinding.test')).toEqual([]);
});

test('a host in websiteHosts is allowed wherever its name leads, and no other', async () => {
  const website = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf('https://shop.example.com/a') }));
  const sandbox = await startedSandbox({ websiteHosts: ['Shop.test', '0.0.0.0'] });
  // This address is not on loopback, and leads to this machine.
  const statusOf = async (host: string) => {
    answers.set(host, [['0.0.0.0'], ['0.0.0.0'], ['0.0.0.0']]);
    const url = website.url.replace('127.0.0.1', host);
    const { status, json } = await ask(sandbox, `GET ${path}?url=${url}`);
    return [status, json.links ?? json.error];
  };
  expect(await statusOf('shop.test')).toEqual([200, ['https://shop.example.com/a']]);
  expect(await statusOf('0.0.0.0')).toEqual([200, ['https://shop.example.com/a']]);
  expect(await statusOf('other.test')).toEqual([400, 'website_not_allowed']);
  expect(await statusOf('www.shop.test')).toEqual([400, 'website_not_allowed']);
});

test.each([['shop.test:8080'], ['https://shop.test'], [''], [7]])('%j is no name of a host', (host) => {
  expect(() => createSandbox({ websiteHosts: [host as string] })).toThrow(
    /websiteHosts.* a name of a host without a port/,
  );
});

test('a name that leads nowhere does not answer', async () => {
  answers.set('nowhere.test', [[]]);
  const { status, json } = await ask(await startedSandbox(), `GET ${path}?url=http://nowhere.test`);
  expect([status, json.error]).toEqual([404, 'website_unreachable']);
});
