import { expect, it } from 'vitest';
import type { Scheme } from '../../src/events/model.ts';
import { knownSchemes, schemeSchema } from '../../src/signature/schemes.ts';
import { literal, tableRows } from './documents.ts';

const path = 'docs/signature.md';
const codes = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

it('the documents name every known scheme, with its fields', () => {
  const keys = tableRows(path, 'name ends with').map((row) => literal(row[0]) ?? '');
  const documented = tableRows(path, 'name begins with').flatMap(([start, encodings, ...rest]) => {
    const [header, syntax, content] = rest.map(literal);
    const named = codes(encodings);
    return (named.length > 0 ? named : ['base64']).flatMap((encoding) =>
      keys.map((key) => {
        const parts = [literal(start), ...(named.length > 0 ? [encoding] : []), key];
        return [parts.join('-'), { header, syntax, content, encoding, hash: 'sha256', key }] as const;
      }),
    );
  });
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(knownSchemes));
});

it('the documents have the fields of a scheme and their values', () => {
  const rows = tableRows(path, 'field', 'values');
  expect(rows.map((row) => literal(row[0]) ?? '').sort()).toEqual(Object.keys(schemeSchema.shape).sort());
  const plain: Scheme = {
    header: 'x-s',
    syntax: 'v1=',
    content: '{body}',
    encoding: 'hex',
    hash: 'sha256',
    key: 'whole',
  };
  for (const field of ['syntax', 'encoding', 'hash', 'key'] as const) {
    const documented = codes(rows.find((row) => literal(row[0]) === field)?.[1]);
    const refused = schemeSchema.safeParse({ ...plain, [field]: 'none' }).error?.issues[0];
    expect([field, documented]).toEqual([field, (refused as { values?: unknown } | undefined)?.values]);
  }
});
