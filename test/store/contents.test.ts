import { expect, test } from 'vitest';
import { contentsBy } from '../../src/store/shared/contents.ts';
import { keptTableNames } from '../../src/store/shared/kept-tables.ts';

test('what is counted on both sides of a move has every table that is moved', async () => {
  const counted = new Set<string>();
  const table = (name: string) => {
    counted.add(name);
    return name;
  };
  await contentsBy({ table, identity: '*', count: () => 0 });
  expect([...counted]).toEqual(expect.arrayContaining([...keptTableNames]));
});
