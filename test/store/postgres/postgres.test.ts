import { describe, test } from 'vitest';
import { postgresForTests, skipTest } from '../../support/postgres.ts';
import { describeStore } from '../conformance/index.ts';
import { postgresUnderTest } from './under-test.ts';

const postgres = await postgresForTests();

if ('missing' in postgres) {
  describe('Postgres', () => {
    test('the tests that every store must pass', () => skipTest(postgres.missing));
  });
} else {
  describeStore('Postgres', () => postgresUnderTest(postgres));
}
