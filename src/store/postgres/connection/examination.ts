import type { Clock } from '../../../kit/clock.ts';
import type { StoreCounts } from '../../store.ts';
import { counts } from '../query/overview.ts';
import { isLiving } from '../work/processes.ts';
import { schemaVersion } from './migrations/index.ts';
import { toProblem } from './opening-cause.ts';
import { type PostgresTarget, heartbeatConnections, intakeConnections, workConnections } from './target.ts';
import { Session } from './session.ts';
import { oneRow } from './transaction.ts';

/** What an examination found, without changing the database. */
export interface PostgresExamination {
  readonly name: string;
  readonly server: Server;
  /** The schema's version; 0 if there is no inbox yet. */
  readonly schema: number;
  /** What the user lacks permission for, to use the inbox or to make one. */
  readonly missingPermissions: readonly string[];
  readonly tuples: { readonly dead: number; readonly live: number };
  /** How far this machine's clock is ahead of the database's, and how long asking took, in milliseconds. */
  readonly clock: { readonly ahead: number; readonly roundTrip: number };
  /** These two are undefined unless the schema is that of this version, and no permission is missing. */
  readonly processes: readonly ExaminedProcess[] | undefined;
  readonly counts: StoreCounts | undefined;
}

/** A process that works on the inbox. */
export interface ExaminedProcess {
  readonly host: string;
  readonly pid: number;
  /** How far its clock was ahead of the database's at its last heartbeat, in milliseconds; null before the first. */
  readonly ahead: number | null;
}

interface Server {
  /** For example 180004. */
  readonly version: number;
  readonly readableVersion: string;
  readonly isReadOnly: boolean;
  /** The default isolation. */
  readonly isolation: string;
  readonly encoding: string;
  readonly synchronousCommit: string;
  readonly hasSynchronousStandbys: boolean;
  readonly fsync: string;
  /** How long the oldest transaction has been open, in seconds; null if there is none. */
  readonly oldestTransaction: number | null;
  /** Whether the user sees the transactions of other users. */
  readonly seesAll: boolean;
  /** How many more connections each of these allows this user; null if it has no limit. */
  readonly connectionsLeft: {
    readonly server: number;
    readonly database: number | null;
    readonly role: number | null;
  };
}

/** How many connections a process makes at most, besides one more while a statement isn't answered: see `Unanswered`. */
export const connectionsOfProcess = intakeConnections.max + heartbeatConnections.max + workConnections.max;

/**
 * Examines a database for an inbox. Nothing is created, changed or migrated.
 *
 * @throws RingbackError `database_unreachable`
 */
export function examinePostgres(target: PostgresTarget, clock: Clock): Promise<PostgresExamination> {
  return asking(target, clock, async (session) => {
    const server = await oneRow<Server>(session, askServer);
    const schema = await schemaOf(session, target.schema);
    const missingPermissions = await missingIn(session, target.schema, schema);
    const isKnown = schema === schemaVersion && missingPermissions.length === 0;
    return {
      name: session.name,
      server,
      schema,
      missingPermissions,
      tuples: await oneRow(session, askTuples, [target.schema]),
      clock: await compareClocks(session, clock),
      processes: isKnown ? await session.query(askProcesses) : undefined,
      counts: isKnown ? await counts(session) : undefined,
    };
  });
}

/**
 * Whether a schema holds an inbox. Nothing is created.
 *
 * @throws RingbackError `database_unreachable`
 */
export function holdsInbox(target: PostgresTarget, clock: Clock): Promise<boolean> {
  return asking(target, clock, async (session) => {
    const tables = ['schema_version', 'events'].map((table) => `${session.statements.schema}.${table}`);
    const { holds } = await oneRow<{ holds: boolean }>(
      session,
      'select bool_and(to_regclass(name) is not null) as holds from unnest($1::text[]) as t (name)',
      [tables],
    );
    return holds;
  });
}

async function asking<T>(
  target: PostgresTarget,
  clock: Clock,
  ask: (session: Session) => Promise<T>,
): Promise<T> {
  const session = new Session(target, clock);
  try {
    return await ask(session);
  } catch (error) {
    throw toProblem(error, session.name);
  } finally {
    await session.close();
  }
}

const askServer = `
  select current_setting('server_version_num')::integer as version,
    current_setting('server_version') as "readableVersion",
    current_setting('transaction_read_only') = 'on' as "isReadOnly",
    current_setting('transaction_isolation') as isolation,
    current_setting('server_encoding') as encoding,
    current_setting('synchronous_commit') as "synchronousCommit",
    current_setting('synchronous_standby_names') <> '' as "hasSynchronousStandbys",
    current_setting('fsync') as fsync,
    (select extract(epoch from clock_timestamp() - min(xact_start))::float8 from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend')
      as "oldestTransaction",
    pg_has_role(current_user, 'pg_read_all_stats', 'usage') as "seesAll",
    (with clients as (
        -- Of other users' connections, not everybody sees the type.
        select datname, usename from pg_stat_activity
        where coalesce(backend_type, 'client backend') = 'client backend' and datid is not null and usesysid is not null)
      select json_build_object(
        'server', current_setting('max_connections')::integer
          - current_setting('superuser_reserved_connections')::integer
          - coalesce(current_setting('reserved_connections', true)::integer, 0) - (select count(*) from clients),
        'database', (select d.datconnlimit - (select count(*) from clients c where c.datname = d.datname)
          from pg_database d where d.datname = current_database() and d.datconnlimit >= 0 and not r.rolsuper),
        'role', case when r.rolconnlimit >= 0 and not r.rolsuper
          then r.rolconnlimit - (select count(*) from clients c where c.usename = r.rolname) end)
      from pg_roles r where r.rolname = session_user)
      as "connectionsLeft"`;

const askProcesses = `
  select host, pid, clock_ahead as ahead from ringback.processes
  where ${isLiving} order by host, pid`;

const askTuples = `
  select coalesce(sum(n_dead_tup), 0)::bigint as dead, coalesce(sum(n_live_tup), 0)::bigint as live
  from pg_stat_user_tables where schemaname = $1`;

/** Asks the catalog first, which everybody may read: selecting from the table fails if the schema may not be used. */
async function schemaOf(session: Session, schema: string): Promise<number> {
  const readable = await session.query(
    `select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = 'schema_version'
       and has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'SELECT')`,
    [schema],
  );
  if (readable.length === 0) return 0;
  const [row] = await session.query<{ version: number }>('select version from ringback.schema_version');
  return row?.version ?? 0;
}

async function missingIn(session: Session, schema: string, version: number): Promise<readonly string[]> {
  const text = version === 0 ? permissionsToMake : permissionsToUse;
  const rows = await session.query<{ missing: string }>(text, [schema]);
  return rows.map(({ missing }) => missing);
}

const permissionsToMake = `
  select 'create a schema in the database' as missing
    where not exists (select from pg_namespace where nspname = $1)
      and not has_database_privilege(current_database(), 'CREATE')
  union all select 'use the schema' from pg_namespace where nspname = $1 and not has_schema_privilege(oid, 'USAGE')
  union all select 'create tables in the schema' from pg_namespace
    where nspname = $1 and not has_schema_privilege(oid, 'CREATE')`;

// A `case`, because the database may otherwise ask for the privilege first, which fails for anything but a sequence.
const permissionsToUse = `
  select lower(privilege) || ' on ' || relname as missing
    from pg_class c join pg_namespace n on n.oid = relnamespace,
      unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as p (privilege)
    where nspname = $1 and (relkind in ('r', 'p') or (relkind = 'v' and privilege = 'SELECT'))
      and not has_table_privilege(c.oid, privilege)
  union all select 'usage on ' || relname from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname = $1 and case relkind when 'S' then not has_sequence_privilege(c.oid, 'USAGE') else false end
  union all select 'execute on ' || proname from pg_proc p join pg_namespace n on n.oid = pronamespace
    where nspname = $1 and not has_function_privilege(p.oid, 'EXECUTE')`;

/** An estimate: the database reads its clock at some moment of the round trip, here taken as its middle. */
async function compareClocks(session: Session, clock: Clock): Promise<PostgresExamination['clock']> {
  const askedAt = clock.elapsed();
  const { at } = await oneRow<{ at: number }>(
    session,
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as at',
  );
  const roundTrip = clock.elapsed() - askedAt;
  return { ahead: clock.now() - roundTrip / 2 - at, roundTrip };
}
