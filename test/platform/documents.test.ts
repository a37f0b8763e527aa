import { expect, test } from 'vitest';
import { ConfigError } from '../../src/errors/errors.ts';
import { type PlatformOptions, createPlatform } from '../../src/platform/index.ts';
import { literal, tableRows } from '../docs/documents.ts';

const page = 'docs/platform.md';
const options = { baseUrl: 'https://api.example.com', apiKey: 'key' };

/** The known options, as the error for an unknown option lists them. */
function knownOptions(): string[] {
  try {
    createPlatform({ ...options, xxxxxxxxxxxxxxxxxxxx: 1 } as PlatformOptions);
  } catch (error) {
    if (error instanceof ConfigError)
      return (/options are: (.*)\.$/.exec(error.message)?.[1] ?? '').split(', ');
  }
  throw new Error('An unknown option was let pass');
}

test('the document lists every option, and no other', () => {
  const documented = tableRows(page, 'option of `createPlatform`').map((row) => literal(row[0]) ?? '');
  expect(documented.sort()).toEqual(knownOptions().sort());
});

test('the document lists every operation, and no other', () => {
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
