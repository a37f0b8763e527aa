import { ringbackError } from '../../../../errors/errors.ts';
import type { Session } from '../session.ts';
import { oneRow, endTimeouts } from '../transaction.ts';
import { adminTables } from './admin-tables.ts';
import { callsView } from './calls-view.ts';
import { claimFunctions } from './claim-functions.ts';
import { recordFunction } from './record-function.ts';
import { workTables } from './work-tables.ts';

/**
 * The schema's history: the first entry makes schema 1, and each further one the next. Never edit an entry, because
 * databases in the field have been through it; only add new ones.
 */
export const migrations: readonly string[] = [
  workTables + claimFunctions + recordFunction + callsView + adminTables,
];

/** The schema version of this version of Ringback. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to `schemaVersion`, one process at a time. Refuses a newer schema: an old program that writes to
 * it could lose what the new one promised to keep.
 */
export async function migrate(session: Session, through = migrations): Promise<void> {
  const { schema } = session.statements;
  const version = through.length;
  // So that a user who may use the tables, but not create any, can open an inbox that is up to date.
  if ((await versionIn(session, version)) === version) return;
  await session.write(async (transaction) => {
    // Without a timeout, here and for each migration: on a large inbox, one may take long.
    await endTimeouts(transaction);
    const key = `ringback:${schema}`;
    await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [key], 0);
    // The connection has cached that there was no schema before it waited for the lock. Reading the catalog shows it
    // what others have created meanwhile; otherwise it would create the schema again, and fail.
    await transaction.query('select from pg_namespace limit 1');
    // Asked first, because even `if not exists` needs the permission to create schemas.
    const { isThere } = await oneRow<{ isThere: boolean }>(
      transaction,
      'select to_regnamespace($1) is not null as "isThere"',
      [schema],
    );
    if (!isThere) await transaction.query(`create schema ${schema}`);
    await transaction.query(
      'create table if not exists ringback.schema_version (version integer primary key)',
    );
    const rows = await transaction.query<{ version: number }>('select version from ringback.schema_version');
    const found = rows[0]?.version ?? 0;
    refuseNewer(session, found, version);
    for (const migration of through.slice(found)) await transaction.query(migration, [], 0);
    await transaction.query('delete from ringback.schema_version');
    await transaction.query('insert into ringback.schema_version values ($1)', [version]);
  });
}

async function versionIn(session: Session, version: number): Promise<number> {
  const name = `${session.statements.schema}.schema_version`;
  const [there] = await session.query<{ name: string | null }>('select to_regclass($1)::text as name', [
    name,
  ]);
  if (!there?.name) return 0;
  const [row] = await session.query<{ version: number }>('select version from ringback.schema_version');
  const found = row?.version ?? 0;
  refuseNewer(session, found, version);
  return found;
}

function refuseNewer({ name }: Session, found: number, version: number): void {
  if (found > version) throw ringbackError('database_newer', { database: name, found, expected: version });
}
