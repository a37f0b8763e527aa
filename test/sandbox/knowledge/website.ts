import type { RequestListener } from 'node:http';
import { listening } from '../../support/servers.ts';

/** A website on loopback until the test ends. Returns its address, such as `http://127.0.0.1:49152`. */
export async function website(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(answer)}`;
}

/** A website of HTML pages and sitemaps, by their paths. */
export function pages(byPath: Readonly<Record<string, string>>): Promise<string> {
  return website((request, response) => {
    const page = byPath[request.url ?? ''];
    const type = page?.startsWith('<?xml') === true ? 'text/xml' : 'text/html';
    if (page === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': type }).end(page);
  });
}
