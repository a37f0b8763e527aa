/** How the page is served: to whom, under which address, and with which policy. */
import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { beforeAll, describe, expect, test } from 'vitest';
import { assets } from '../../../src/operate/page/assets.ts';
import { pageIsBuilt } from '../../support/browser.ts';
import { type Authorize, ConfigError, type Mounted } from '../../support/public.ts';
import { made, started } from '../../support/receiver.ts';
import { listening } from '../../support/servers.ts';

beforeAll(pageIsBuilt);

async function mountedPage(authorize: Authorize = () => 'read') {
  const { receiver, logs } = await started();
  const page = receiver.page({ authorize });
  const ask = (path: string, init?: RequestInit) =>
    page.fetch(new Request(`https://ops.example.com/ops${path}`, init), '/ops');
  return { page, logs, ask };
}

/** The addresses in the document, as they are written. */
function addressesIn(html: string): readonly string[] {
  return [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
}

describe('the files', () => {
  test('the document has nothing inline, and its addresses are relative', async () => {
    const { ask } = await mountedPage();
    const html = await (await ask('/')).text();
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/i);
    const addresses = addressesIn(html);
    expect(addresses.length).toBe(3);
    for (const address of addresses) expect(address).toMatch(/^\.\/page-[\w-]+\.(?:js|css)$|^data:image/);
  });

  test('its policy allows nothing else, and only the files are kept by the browser', async () => {
    const { ask } = await mountedPage();
    const document = await ask('/');
    expect(document.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(document.headers.get('cache-control')).toBe('no-store');
    // Other sites learn nothing of its address, and no window that they have opened of it is theirs to use.
    expect(document.headers.get('referrer-policy')).toBe('no-referrer');
    expect(document.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(document.headers.get('x-content-type-options')).toBe('nosniff');
    const script = addressesIn(await document.text()).find((address) => address.endsWith('.js'));
    const file = await ask(script?.slice(1) ?? '');
    expect(file.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect((await ask('/', { method: 'HEAD' })).status).toBe(200);
  });

  test('all of it is at most 45 KB, compressed', async () => {
    const sizes = [...(await assets()).values()].map(({ bytes }) => gzipSync(bytes).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(45 * 1_024);
  });
});

describe('who gets it', () => {
  test('the document, the files and the API are denied unless authorize allows them', async () => {
    const { ask } = await mountedPage(() => undefined);
    const script = [...(await assets()).keys()].find((name) => name.endsWith('.js')) ?? '';
    for (const path of ['/', `/${script}`, '/api/counts', '/nothing', '']) {
      const answer = await ask(path);
      expect([path, answer.status]).toEqual([path, 403]);
      expect(await answer.text()).not.toContain('<');
    }
  });

  test('authorize is called for every request, and its failure denies access', async () => {
    const asked: string[] = [];
    const { ask, logs } = await mountedPage(({ url }) => {
      asked.push(new URL(url).pathname);
      if (asked.length > 2) throw new Error('the session store is down');
      return 'read';
    });
    expect((await ask('/')).status).toBe(200);
    expect((await ask('/api/counts')).status).toBe(200);
    expect((await ask('/')).status).toBe(500);
    expect(asked).toEqual(['/ops/', '/ops/api/counts', '/ops/']);
    const cause = expect.stringMatching(/^authorize failed: Error \(test\/operate\/page\/serving/);
    expect(logs.of('api_failed')).toMatchObject([{ cause }]);
  });

  test('a browser that leaves while authorize decides is not logged as a failure', async () => {
    const leaving = new AbortController();
    const { ask, logs } = await mountedPage(async ({ signal }) => {
      leaving.abort();
      signal.throwIfAborted();
      return undefined;
    });
    await ask('/', { signal: leaving.signal });
    expect(logs.of('api_failed')).toEqual([]);
  });

  test('without authorize there is no page', () => {
    const { receiver } = made();
    expect(() => receiver.page({} as never)).toThrow(ConfigError);
    expect(() => receiver.page({} as never)).toThrow('authorize in receiver.page');
    expect(() => receiver.page(undefined as never)).toThrow('authorize in receiver.page');
  });

  test.each(['/index.html', '/page.ts', '/%2e%2e/package.json', '/..%2fpackage.json', '/page-x.js', '/apix'])(
    'there is nothing at %s',
    async (path) => {
      const { ask } = await mountedPage();
      expect((await ask(path)).status).toBe(404);
    },
  );

  test('the page accepts GET only', async () => {
    const { ask } = await mountedPage();
    const { status, headers } = await ask('/', { method: 'POST', body: 'x' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('mounted', () => {
  const baseOf = async (listener: RequestListener) => `http://127.0.0.1:${await listening(listener)}`;

  const mountings: Readonly<Record<string, (page: Mounted) => Promise<string>>> = {
    'in Express': (page) => baseOf(express().use('/ops/calls', page.middleware())),
    'in node:http': (page) => baseOf(page.nodeHandler('/ops/calls')),
  };

  test.each(Object.entries(mountings))('%s, it is at its path with a slash at the end', async (_, mount) => {
    const { page } = await mountedPage();
    const base = await mount(page);
    const answer = await fetch(`${base}/ops/calls?x=1`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([308, './calls/?x=1']);
    const document = await fetch(`${base}/ops/calls`);
    expect(document.url).toBe(`${base}/ops/calls/`);
    for (const address of addressesIn(await document.text()).filter((found) => found.startsWith('.')))
      expect((await fetch(new URL(address, document.url))).status).toBe(200);
    expect((await fetch(`${base}/ops/calls/api/counts`)).status).toBe(200);
  });
});
