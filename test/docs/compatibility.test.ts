/** The page of what was run names what is installed here, and a cell for each test of a framework in a runner. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { frameworks } from '../package/framework-tests.ts';
import { runners } from '../package/test-runners.ts';
import { root, tableRows } from './documents.ts';

/** What a version in a document is that of. */
const packages: Readonly<Record<string, string>> = {
  'Express 5': 'express',
  'Express 4': 'express4',
  Fastify: 'fastify',
  Nest: '@nestjs/core',
  'Hono on Node': 'hono',
  Next: 'next',
  pm2: 'pm2',
  Node: 'node',
  'Jest 30': 'jest',
  'Jest 29': 'jest29',
  TypeScript: 'typescript',
};
const page = 'docs/compatibility.md';

/** The version of what is named so, as it is installed. */
function installed(name: string): string {
  const path = join(root, 'node_modules', packages[name] ?? name, 'package.json');
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

/** The packages that an app may have for a part of Ringback. */
function optionalPeers(): string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    peerDependencies: Readonly<Record<string, string>>;
  };
  return Object.keys(manifest.peerDependencies).filter((name) => name !== '@nestjs/common');
}

describe(page, () => {
  it('has a cell for each framework in each runner', () => {
    const cells = tableRows(page, 'framework', 'version', ...Object.keys(runners));
    const inNode = frameworks.at(-1);
    expect(cells).toEqual(
      frameworks.map((name) => [
        name === inNode ? '`node:http`' : name,
        name === inNode ? 'of Node' : installed(name),
        ...Object.values(runners).map(({ lacks }) => lacks?.[name] ?? 'yes'),
      ]),
    );
  });

  it('names the versions that are installed', () => {
    const rows = tableRows(page, 'what', 'version', 'also tried by hand');
    const named = rows.map(([name = '']) => packages[name] ?? name);
    for (const peer of optionalPeers()) expect([...named, ...Object.values(packages)]).toContain(peer);
    for (const [name = '', version] of rows) expect([name, version]).toEqual([name, installed(name)]);
  });
});

it('the examples of frameworks are named with the versions that are installed', () => {
  const rows = tableRows('docs/mounting.md', 'framework', 'version', 'mount it with', 'example');
  const named = rows.filter(([framework = '']) => Object.hasOwn(packages, framework));
  expect(named.length).toBe(7);
  for (const [name = '', version] of named) expect([name, version]).toEqual([name, installed(name)]);
});
