import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, tableRows } from './documents.ts';

const packages: Readonly<Record<string, string>> = {
  'Express 5': 'express',
  'Express 4': 'express4',
  Fastify: 'fastify',
  Nest: '@nestjs/core',
  'Hono on Node': 'hono',
};

it('the documents name the versions of the frameworks with which the examples are tested', () => {
  const rows = tableRows('docs/mounting.md', 'framework', 'version', 'mount it with', 'example');
  const named = rows.filter(([framework = '']) => Object.hasOwn(packages, framework));
  const installed = Object.entries(packages).map(([framework, name]) => {
    const path = join(root, 'node_modules', name, 'package.json');
    return [framework, (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version];
  });
  expect(named.map((row) => row.slice(0, 2))).toEqual(installed);
});
