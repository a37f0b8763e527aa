import { expect, test } from 'vitest';
import { ConfigError } from '../../src/errors/errors.ts';
import { createPlatform } from '../../src/platform/index.ts';
import { literal, tableRows } from '../docs/documents.ts';

const page = 'docs/platform.md';
const options = { baseUrl: 'https://api.example.com', apiKey: 'key' };

/** The known options, as the error for these, among which one is unknown, lists them. */
function knownOptions(unknown: object): string[] {
  try {
    createPlatform({ ...options, ...unknown });
  } catch (error) {
    if (error instanceof ConfigError)
      return (/options are: (.*)\.$/.exec(error.message)?.[1] ?? '').split(', ');
  }
  throw new Error('An unknown option was let pass');
}

test('docs/platform.md lists every option, and no other', () => {
  const documented = tableRows(page, 'option of `createPlatform`').map((row) => literal(row[0]) ?? '');
  expect(documented.sort()).toEqual(knownOptions({ xxxxxxxxxxxxxxxxxxxx: 1 }).sort());
});

test('docs/platform.md lists every path that can be set, and no other', () => {
  const documented = tableRows(page, 'key of `knowledgeBasePaths`').map((row) => literal(row[0]) ?? '');
  const known = knownOptions({ knowledgeBasePaths: { xxxxxxxxxxxxxxxxxxxx: 1 } });
  expect(documented.sort()).toEqual(known.sort());
});

test('docs/platform.md lists every operation, and no other', () => {
  const documented = tableRows(page, 'operation', "the platform's request").map((row) =>
    (literal(row[0]) ?? '').replace(/\(.*$/, ''),
  );
  const operations = Object.entries(createPlatform(options)).flatMap(([group, methods]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(methods))
      .filter((name) => name !== 'constructor')
      .map((name) => `${group}.${name}`),
  );
  expect(documented.sort()).toEqual(operations.sort());
});
