/**
 * The browser and the built page that tests share. Both are made ready when the first test asks: a run of tests that need
 * none waits for none. The workers ask over loopback, because they may not unpack the same file at the same time.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { browserPath } from '../../scripts/browser.ts';
import { buildPageIfNeeded } from '../../scripts/page.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the path of a browser once the page is built, as text. */
    readonly browserDoor: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  let ready: Promise<string> | undefined;
  const door = createServer((_request, response) => {
    ready ??= buildPageIfNeeded().then(browserPath);
    ready.then(
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
