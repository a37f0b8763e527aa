/** Websites on loopback, for the sandbox to search. */
import type { RequestListener, ServerResponse } from 'node:http';
import { listening } from '../support/servers.ts';

/** What a website answers at a path: a text or bytes, or a function that writes the response. */
export type Page = string | Uint8Array | ((response: ServerResponse) => void);

/** A website that runs until the test ends. */
export interface TestWebsite {
  readonly url: string;
  /** The paths that it was asked for, in order. */
  readonly asked: readonly string[];
}

/** Starts a website; `pages` is called with its address, because sitemaps contain whole addresses. */
export async function startedWebsite(
  pages: (url: string) => Readonly<Record<string, Page>>,
): Promise<TestWebsite> {
  const asked: string[] = [];
  let known: Readonly<Record<string, Page>> = {};
  const answer: RequestListener = (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const page = known[path];
    if (page === undefined) response.writeHead(404).end('<html>not here</html>');
    else if (typeof page === 'function') page(response);
    else response.end(page);
  };
  const url = `http://127.0.0.1:${await listening(answer)}`;
  known = pages(url);
  return { url, asked };
}

/** A sitemap of pages. The locations are written without escaping. */
export function sitemapOf(...locations: readonly string[]): string {
  const entries = locations.map((location) => `<url><loc>${location}</loc></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('\n')}</urlset>`;
}

/** An index of sitemaps. */
export function indexOf(...locations: readonly string[]): string {
  const entries = locations.map((location) => `<sitemap><loc>${location}</loc></sitemap>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
    <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('\n')}</sitemapindex>`;
}
