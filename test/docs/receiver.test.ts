import { expect, it } from 'vitest';
import { Receiver } from '../../src/index.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { literal, tableRows } from './documents.ts';

it('the documents have every method and property of the receiver, and no other', () => {
  const rows = tableRows('docs/receiver.md', 'method or property', 'when', 'what it does');
  const documented = rows.map((row) => /^\w+/.exec(literal(row[0]) ?? '')?.[0] ?? '');
  const inherited = Object.getOwnPropertyNames(Receiver.prototype).filter((name) => name !== 'constructor');
  expect(documented.sort()).toEqual([...inherited, ...Object.keys(testReceiver())].sort());
});
