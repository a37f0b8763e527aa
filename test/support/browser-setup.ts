/**
 * The built page and the browser that tests share. They are made ready when the first test asks: a run of tests that need
 * neither waits for neither. The workers ask over loopback, because they may not unpack the same file at the same time.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { browserPath } from '../../scripts/browser.ts';
import { buildPageIfNeeded } from '../../scripts/page.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers at `/page` once the page is built, and at `/browser` with the path of a browser as text. */
    readonly browserDoor: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  let page: Promise<void> | undefined;
  let browser: Promise<string> | undefined;
  const door = createServer(({ url }, response) => {
    const asked = url === '/page' ? (page ??= buildPageIfNeeded()) : (browser ??= browserPath());
    asked.then(
      (path) => response.end(path),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  project.provide('browserDoor', `http://127.0.0.1:${(door.address() as AddressInfo).port}`);
  return () => {
    door.close();
    door.closeAllConnections();
  };
}
