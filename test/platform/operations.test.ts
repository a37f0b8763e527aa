import { describe, expect, it, test } from 'vitest';
import type { PromptRequest } from '../../src/platform/index.ts';
import { sitemapOf, startedWebsite } from '../sandbox/website.ts';
import { clientOf, platformError, sandboxAndPlatform, standIn } from './support.ts';

describe('prompts.generate', () => {
  it('gives a prompt', async () => {
    const { platform } = await sandboxAndPlatform();
    const request = { raw_prompt: 'You sell bicycles.', instructions: 'Be brief.' };
    const generated = await platform.prompts.generate(request);
    expect(generated).toEqual({
      user_id: 'user_1',
      prompt_id: expect.any(String),
      prompt: expect.stringContaining('You sell bicycles.'),
    });
  });

  it('sends empty instructions when there are none', async () => {
    const { url, received } = await standIn({ json: { user_id: 'u', prompt_id: 'p', prompt: 'x' } });
    await clientOf(url).platform.prompts.generate({ raw_prompt: 'a' });
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({ raw_prompt: 'a', instructions: '' });
  });

  test.each([{}, { raw_prompt: 1 }, { raw_prompt: 'a', instruction: 'b' }])('refuses %j', async (request) => {
    const { platform } = clientOf('http://127.0.0.1:1');
    await expect(platform.prompts.generate(request as PromptRequest)).rejects.toMatchObject({
      name: 'ConfigError',
    });
  });
});

describe('websites.sitemaps', () => {
  it('gives the addresses that a website publishes', async () => {
    const site = await startedWebsite((url) => ({
      '/sitemap.xml': sitemapOf(`${url}/a`, `${url}/b?c=d&amp;e=f`),
    }));
    const { platform } = await sandboxAndPlatform();
    expect(await platform.websites.sitemaps(site.url)).toEqual({
      success: true,
      links: [`${site.url}/a`, `${site.url}/b?c=d&e=f`],
    });
  });

  it("becomes a PlatformError for the document's error body", async () => {
    const { platform } = await sandboxAndPlatform();
    expect(await platformError(platform.websites.sitemaps('http://203.0.113.7/'))).toMatchObject({
      operation: 'websites.sitemaps',
      status: 400,
      code: 'website_not_allowed',
    });
  });

  it("uses the parameter's name from the option, because the document has none", async () => {
    const { platform } = await sandboxAndPlatform({}, { websiteParameter: 'base_url' });
    const site = await startedWebsite((url) => ({ '/sitemap.xml': sitemapOf(`${url}/a`) }));
    expect(await platform.websites.sitemaps(site.url, { parameter: 'base_url' })).toMatchObject({
      success: true,
    });
    expect(await platformError(platform.websites.sitemaps(site.url))).toMatchObject({
      status: 422,
      code: 'HTTPValidationError',
      details: [expect.objectContaining({ loc: ['query', 'base_url'] })],
    });
  });

  test.each(['www.example.com', 'ftp://example.com', ''])('refuses %j as an address', async (address) => {
    const { platform } = clientOf('http://127.0.0.1:1');
    await expect(platform.websites.sitemaps(address)).rejects.toThrow(/The option url in websites\.sitemaps/);
  });
});
