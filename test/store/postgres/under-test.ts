import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import type { SharedPostgres } from '../../support/postgres.ts';
import { Script } from '../../support/process.ts';
import type { StoreUnderTest } from '../under-test.ts';

const holdingProcess = fileURLToPath(new URL('./holding-process.ts', import.meta.url));

/** A store in an empty schema. */
export function postgresUnderTest({ connectionString, schemas }: SharedPostgres): StoreUnderTest {
  const { pool } = schemas;
  let schema: string | undefined;
  const schemaName = () => (schema ??= schemas.take());
  const dieIn = async (how: string) => {
    const script = new Script(
      holdingProcess,
      JSON.stringify({ connectionString, schema: schemaName(), how }),
    );
    await script.line('claimed');
    await script.kill();
    // As if it had been silent for long: a test does not wait for that.
    await pool.query(
      `update "${schemaName()}".processes set heartbeat_at = heartbeat_at - interval '1 hour'
       where id = (select max(id) from "${schemaName()}".processes)`,
    );
  };
  return {
    // The tests that every store must pass don't use its transactions.
    make: (clock) =>
      new PostgresStore(
        { connectionString: undefined, pool, schema: schemaName() },
        clock,
      ) as unknown as Store,
    shared: {
      dieHolding: () => dieIn('holding'),
      dieReading: () => dieIn('reading'),
      dieBeginning: () => dieIn('beginning'),
      async lock() {
        const client = new Client({ connectionString });
        await client.connect();
        await client.query(`begin; lock table "${schemaName()}".identities in exclusive mode`);
        return () => client.end();
      },
    },
  };
}
