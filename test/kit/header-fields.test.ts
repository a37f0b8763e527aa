import { expect, test } from 'vitest';
import { RequiredHeaders } from '../../src/kit/header-fields.ts';

const required = new RequiredHeaders([
  ['X-First', 'right'],
  ['x-second', 'right'],
  ['x-empty', ''],
]);
const right = { 'x-first': 'right', 'x-second': 'right', 'x-empty': '' };

test('finds nothing wrong with all of them', () => {
  expect(required.firstWrongIn({ ...right, 'x-other': 'any' })).toBeUndefined();
});

test.for([
  ['x-first', { ...right, 'x-first': 'wrong', 'x-second': 'wrong' }],
  ['x-second', { ...right, 'x-second': undefined }],
  ['x-second', { ...right, 'x-second': ['right', 'right'] }],
  ['x-empty', { 'x-first': 'right', 'x-second': 'right' }],
] as const)('names %s as the first that is wrong', ([name, headers]) => {
  expect(required.firstWrongIn(headers)).toBe(name);
});

test('compares all of them even if the first is wrong: the time must not reveal which', () => {
  const compared: unknown[] = [];
  const headers = new Proxy<Record<string, unknown>>(
    {},
    { get: (_headers, name) => void compared.push(name) },
  );
  required.firstWrongIn(headers);
  expect(compared).toEqual(['x-first', 'x-second', 'x-empty']);
});
