// @module-tag long
/** What is in the package, how large it is, and whether its parts find each other. */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { links } from '../docs/documents.ts';
import { type PackedProject, packProject } from './packed-project.ts';

const commands = join(import.meta.dirname, '../../node_modules/.bin');
let project: PackedProject;
beforeAll(async () => {
  project = await packProject();
});
afterAll(() => project.remove());

it('the package has less than two megabytes, and no file is large', () => {
  expect(statSync(project.tarball).size).toBeLessThan(2_000_000);
  const sizes = project.files.map((file) => ({ file, size: statSync(join(project.installed, file)).size }));
  expect(sizes.filter(({ size }) => size > 150_000)).toEqual([]);
});

it('attw finds the types of each entry point, from ES modules, from CommonJS and by bundlers', () => {
  const args = [project.tarball, '--format', 'json'];
  const { stdout, status } = spawnSync(join(commands, 'attw'), args, { encoding: 'utf8' });
  const { analysis } = JSON.parse(stdout) as {
    analysis: { entrypoints: Record<string, unknown>; problems: unknown[] };
  };
  expect(Object.keys(analysis.entrypoints).length).toBeGreaterThan(8);
  expect(analysis.problems).toEqual([]);
  expect(status).toBe(0);
});

it('every link between its documents leads to a file that is in it', () => {
  const files = new Set(project.files);
  const documents = project.files.filter((file) => file.endsWith('.md'));
  expect(documents.length).toBeGreaterThan(20);
  const broken = documents.flatMap((document) =>
    links(document)
      .map(({ target }) => target.replace(/\/$/, ''))
      // The pictures stay in the repository.
      .filter((target) => !target.startsWith('docs/images/'))
      .filter((target) => !files.has(target) && !project.files.some((file) => dirname(file) === target))
      .map((target) => `${document}: ${target}`),
  );
  expect(broken).toEqual([]);
});

it('everything that package.json names is in it', () => {
  const { bin, exports } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
    exports: Record<string, unknown>;
  };
  const named = JSON.stringify([bin, exports]).match(/(?<=")\.\/[^"*]+\.[^"*]+(?=")/g) ?? [];
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !project.files.includes(path.slice(2)))).toEqual([]);
});
