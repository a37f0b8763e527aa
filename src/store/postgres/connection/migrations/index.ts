import { ringbackError } from '../../../../errors/errors.ts';
import type { Session } from '../session.ts';
import { oneRow } from '../transaction.ts';
import { adminTables } from './admin-tables.ts';
import { callsView } from './calls-view.ts';
import { claimFunction } from './claim-function.ts';
import { processFunctions } from './process-functions.ts';
import { recordFunction } from './record-function.ts';
import { workTables } from './work-tables.ts';

/**
 * The schema's history: the first entry makes schema 1, and each further one the next. Entries are only ever added, never
 * edited, because databases in the field have already been through them.
 */
const migrations: readonly string[] = [
  workTables + processFunctions + recordFunction + claimFunction + callsView + adminTables,
];

/** The schema that this version of Ringback writes. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to `schemaVersion`, one process at a time. A database that a newer version wrote is refused: an old
 * program that writes to a new schema could lose what the new one promised to keep.
 */
export async function migrate(session: Session): Promise<void> {
  const { schema } = session.statements;
  // Whoever may only use the tables, and not create any, can still open an inbox that is up to date.
  if ((await versionIn(session)) === schemaVersion) return;
  await session.write(async (transaction) => {
    await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`ringback:${schema}`]);
    // A connection keeps in mind that there was no schema, also while it waits for the lock. Reading the catalog shows it
    // what others have made meanwhile; otherwise it would make the schema again, and fail.
    await transaction.query('select from pg_namespace limit 1');
    // Asked first: to create a schema that is there takes a permission on the database as well.
    const { isThere } = await oneRow<{ isThere: boolean }>(
      transaction,
      'select to_regnamespace($1) is not null as "isThere"',
      [schema],
    );
    if (!isThere) await transaction.query(`create schema ${schema}`);
    await transaction.query('create table if not exists ringback.schema_version (version integer not null)');
    const rows = await transaction.query<{ version: number }>('select version from ringback.schema_version');
    const found = rows[0]?.version ?? 0;
    refuseNewer(session, found);
    for (const migration of migrations.slice(found)) await transaction.query(migration);
    await transaction.query('delete from ringback.schema_version');
    await transaction.query('insert into ringback.schema_version values ($1)', [schemaVersion]);
  });
}

async function versionIn(session: Session): Promise<number> {
  const name = `${session.statements.schema}.schema_version`;
  const [there] = await session.query<{ name: string | null }>('select to_regclass($1)::text as name', [
    name,
  ]);
  if (!there?.name) return 0;
  const [row] = await session.query<{ version: number }>('select version from ringback.schema_version');
  const found = row?.version ?? 0;
  refuseNewer(session, found);
  return found;
}

function refuseNewer({ name }: Session, found: number): void {
  if (found > schemaVersion)
    throw ringbackError('database_newer', { database: name, found, expected: schemaVersion });
}
