// @module-tag long
/** The website of the documentation, built as `npm run docs` builds it, and seen in a browser. */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parseHTML } from 'linkedom';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { launch } from '../../scripts/browser.ts';
import { askAtDoor } from '../support/door.ts';
import { listening } from '../support/servers.ts';
import { root } from './documents.ts';

const site = join(root, 'site/dist');
let browser: Browser | undefined;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, ['scripts/docs.ts'], { cwd: root });
  browser = await launch(await askAtDoor(inject('preparedDoor'), '/browser'));
});
afterAll(() => browser?.close());

interface BuiltPage {
  readonly path: string;
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

function builtPages(): readonly BuiltPage[] {
  return globSync('**/*.html', { cwd: site }).map((path) => {
    const { document } = parseHTML(readFileSync(join(site, path), 'utf8'));
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    const links = [...document.querySelectorAll('a[href], img[src]')].map(
      (element) => element.getAttribute('href') ?? element.getAttribute('src') ?? '',
    );
    return { path, ids: new Set(ids), links };
  });
}

/** The links of a page that lead nowhere: to no file of the site, or to no place in its page. */
function broken({ path, links }: BuiltPage, pages: ReadonlyMap<string, BuiltPage>): string[] {
  return links
    .filter((link) => !/^(https?|mailto):/.test(link))
    .filter((link) => {
      const [target = '', anchor = ''] = link.split('#');
      const from = target.startsWith('/') ? target.slice(1) : join(dirname(path), target);
      const file = target === '' ? path : from === '' || from.endsWith('/') ? join(from, 'index.html') : from;
      const page = pages.get(extname(file) === '' ? `${file}.html` : file);
      if (!page) return !existsSync(join(site, file));
      return anchor !== '' && !page.ids.has(decodeURIComponent(anchor));
    })
    .map((link) => `${path}: ${link}`);
}

test('every link leads to a page, and to a place in it', () => {
  const pages = new Map(builtPages().map((page) => [page.path, page]));
  expect(pages.size).toBeGreaterThan(40);
  expect([...pages.values()].flatMap((page) => broken(page, pages))).toEqual([]);
});

test('every document of the repository is in the navigation', () => {
  const { document } = parseHTML(readFileSync(join(site, 'index.html'), 'utf8'));
  const listed = new Set([...document.querySelectorAll('aside a')].map((link) => link.getAttribute('href')));
  const documents = globSync('docs/*.md', { cwd: root }).map((file) => `/${file.replace(/md$/, 'html')}`);
  expect(documents.filter((file) => !listed.has(file))).toEqual([]);
});

describe('in a browser', () => {
  const types: Readonly<Record<string, string>> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.json': 'application/json',
  };

  /** The site as any web server has it, at a path; fails the test for what the browser complains of. */
  async function opened(path: string): Promise<Page> {
    const port = await listening((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://site');
      const file = join(site, relative('/', pathname.endsWith('/') ? `${pathname}index.html` : pathname));
      if (!existsSync(file)) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': types[extname(file)] ?? '' }).end(readFileSync(file));
    });
    if (!browser) throw new Error('The browser has not started.');
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    page.setDefaultTimeout(500_000);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    onTestFinished(() => expect(complaints).toEqual([]));
    await page.goto(`http://127.0.0.1:${port}${path}`);
    return page;
  }

  test('a reader goes from the README to a document and to the reference', async () => {
    const page = await opened('/');
    await page.locator('main h1', { hasText: 'Ringback' }).waitFor();
    await page.locator('aside').getByRole('link', { name: 'handlers', exact: true }).click();
    await page.locator('main h1', { hasText: 'Handlers' }).waitFor();
    await page.locator('aside').getByRole('link', { name: 'ringback', exact: true }).click();
    await page.getByRole('heading', { name: 'createReceiver()' }).waitFor();
  });

  test('a search finds a word of the documents', async () => {
    const page = await opened('/docs/operate.html');
    expect(
      await page
        .locator('main img')
        .first()
        .evaluate((image: { complete: boolean }) => image.complete),
    ).toBe(true);
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('searchbox').fill('dismissal');
    await page.locator('#localsearch-list a').first().waitFor();
  });
});
