import type { Pool } from 'pg';
import { closest } from '../../../errors/closest-name.ts';

/** Where an inbox in Postgres is. */
export interface PostgresTarget {
  /** The database, if the store is to make its own connections. */
  readonly connectionString: string | undefined;
  /** The user's own connections, if these are to be used. */
  readonly pool: Pool | undefined;
  /** The schema that holds the inbox's tables. */
  readonly schema: string;
}

export const defaultSchema = 'ringback';
/** Longer names would be truncated by the database, so that two could become one. */
const schemaName = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;
/** The parameter of a URL that names the schema. It is Ringback's own: the driver has none of that name. */
const schemaParameter = 'schema';

export interface PoolLimits {
  /** How many connections there are at most. */
  readonly max: number;
  /**
   * How long a statement of the store's own, and the wait for a connection before it, may take, in milliseconds. If the
   * network has dropped a connection, nothing else shows that no answer will come. Users' statements have the time that
   * they need.
   */
  readonly timeout: number;
}

/** For deliveries: at most two groups are in flight, and senders are answered long before the timeout. */
export const intakeConnections: PoolLimits = { max: 2, timeout: 5_000 };
/** For heartbeats, takeovers and pauses: a busy process must not be taken for dead. */
export const heartbeatConnections: PoolLimits = { max: 2, timeout: 10_000 };
/** For everything else. */
export const workConnections: PoolLimits = { max: 8, timeout: 30_000 };
/**
 * How many of these users' functions may keep at a time. If they could keep all while they wait, such as for a lock on a
 * table of the user's, nothing would be claimed or settled, and the page would show nothing.
 */
export const maxUserTransactions = workConnections.max - 1;

export function isSchemaName(text: unknown): text is string {
  return typeof text === 'string' && schemaName.test(text);
}

/** The target that a URL such as `postgres://user@host/app?schema=ringback` names, or undefined if it names none. */
export function readTarget(text: string): PostgresTarget | undefined {
  const url = withHost(text);
  const parsed = isPostgresUrl(url) ? urlIn(url) : undefined;
  if (!parsed || [...parsed.searchParams.keys()].some(isMisspelledSchema)) return undefined;
  const schema = parsed.searchParams.get(schemaParameter) ?? defaultSchema;
  if (!isSchemaName(schema)) return undefined;
  if (!parsed.searchParams.has(schemaParameter)) return { connectionString: url, pool: undefined, schema };
  parsed.searchParams.delete(schemaParameter);
  return { connectionString: parsed.href, pool: undefined, schema };
}

/** Why a Postgres URL is invalid, without its user, password and host. Undefined for other values. */
export function wrongTarget(text: unknown): string | undefined {
  if (typeof text !== 'string' || !isPostgresUrl(text)) return undefined;
  const parsed = urlIn(withHost(text));
  if (!parsed)
    return "a postgres:// URL that can't be read: it has several hosts, its port is no number, or a character of the user or the password, such as '#', '/' or '?', is not percent-encoded";
  const misspelled = [...parsed.searchParams.keys()].find(isMisspelledSchema);
  return misspelled === undefined
    ? 'a postgres:// URL with a schema that has other characters than lower-case letters, digits and _, begins with pg_, or is too long'
    : `a postgres:// URL with the parameter ${JSON.stringify(misspelled)}, where "${schemaParameter}" is meant`;
}

/**
 * The parts of a URL; undefined if it can't be read, or if its user and password end too early: an `@` after them is the
 * one that should end them. In `postgres://user:12/rest@host/app`, the host would be `user`, and the rest of the password
 * a part of the database's name, which errors and log lines show.
 */
function urlIn(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const parsed = new URL(text);
  const { pathname, hash, searchParams } = parsed;
  return [pathname, hash, ...searchParams.keys()].some((part) => part.includes('@')) ? undefined : parsed;
}

/** The usual form for a Unix socket, `postgres://user@/app?host=/socket`, is a URL only with a host, which is not used. */
function withHost(text: string): string {
  return text.replace(/@(?=\/[^/@?]*\?(?:.*&)?host=)/, '@localhost');
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/** The driver ignores unknown parameters, so a misspelled one would lead to the inbox of another schema. */
function isMisspelledSchema(parameter: string): boolean {
  return parameter !== schemaParameter && closest(parameter, [schemaParameter]) !== undefined;
}

/** How messages to a person name the inbox: without the user, the password and the query of the URL. */
export function targetName({ connectionString, schema }: PostgresTarget): string {
  if (connectionString === undefined) return `the schema ${schema}`;
  if (!URL.canParse(connectionString)) return `Postgres, schema ${schema}`;
  const { host, pathname } = new URL(connectionString);
  return `postgres://${host}${pathname}, schema ${schema}`;
}
