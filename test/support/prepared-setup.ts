/**
 * What tests share: the built page, the browser, and the packed package. Each is made ready when the first test asks for it: a
 * run of tests that need none waits for none. The workers ask over loopback, because they may not make the same twice.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { browserPath } from '../../scripts/browser.ts';
import { buildPageIfNeeded } from '../../scripts/page.ts';
import { pack } from '../package/pack.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with text at `/page` once the page is built, at `/browser` with a path, and at `/package` with that of a tarball. */
    readonly preparedDoor: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'ringback-prepared-'));
  const makers: Readonly<Record<string, () => Promise<string>>> = {
    '/page': async () => (await buildPageIfNeeded(), ''),
    '/browser': browserPath,
    '/package': () => pack(folder),
  };
  const made = new Map<string, Promise<string>>();
  const door = createServer(({ url = '' }, response) => {
    const asked = made.get(url) ?? makers[url]?.() ?? Promise.reject(new Error(`There is nothing at ${url}`));
    made.set(url, asked);
    asked.then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  project.provide('preparedDoor', `http://127.0.0.1:${(door.address() as AddressInfo).port}`);
  return async () => {
    door.close();
    door.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  };
}
