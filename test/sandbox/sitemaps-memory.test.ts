import { expect, test } from 'vitest';
import { ask, startedSandbox } from './tenants.ts';
import { sitemapOf, startedWebsite } from './website.ts';

const maxLength = 2_048;

test('addresses that are longer than the sitemaps protocol allows are passed over', async () => {
  // Fifty packed documents of such addresses are half a gigabyte.
  const address = 'https://shop.example.com/'.padEnd(maxLength, 'a');
  const website = await startedWebsite(() => ({ '/sitemap.xml': sitemapOf(`${address}a`, address) }));
  const query = `?url=${encodeURIComponent(website.url)}`;
  const { json } = await ask(
    await startedSandbox(),
    `GET /api/v1/knowledge-bases/documents/website/sitemaps${query}`,
  );
  expect(json).toEqual({ success: true, links: [address] });
});
