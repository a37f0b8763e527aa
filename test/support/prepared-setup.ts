/** The built page, the browser, and the packed package, which tests share. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { browserPath } from '../../scripts/browser.ts';
import { buildPageIfNeeded } from '../../scripts/page.ts';
import { pack } from '../package/pack.ts';
import { openDoor } from './door.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers `/page` once the page is built, `/browser` with a path, and `/package` with the path of a tarball. */
    readonly preparedDoor: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'ringback-prepared-'));
  const door = await openDoor({
    '/page': async () => {
      await buildPageIfNeeded();
      return '';
    },
    '/browser': browserPath,
    '/package': () => pack(folder),
  });
  project.provide('preparedDoor', door.address);
  return async () => {
    door.close();
    await rm(folder, { recursive: true, force: true });
  };
}
