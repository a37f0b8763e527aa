import type { Pool } from 'pg';

/** Where an inbox in Postgres is. */
export interface PostgresPlace {
  /** The database, if the store is to make its own connections. */
  readonly connectionString: string | undefined;
  /** The user's own connections, if these are to be used. */
  readonly pool: Pool | undefined;
  /** The schema that holds the inbox's tables. */
  readonly schema: string;
}

/** How many connections a process makes at the most: for deliveries, of which two groups are in flight, and for all else. */
export const connections = { intake: 2, work: 8 };
/** How long to wait for a connection, in milliseconds. A delivery is answered sooner. */
const connectionTimeout = 5_000;
/** How long a statement may take, in milliseconds: a connection that is silently dead must not hold a group for ever. */
const queryTimeout = 30_000;

/** The options of a pool for this place. */
export function poolOptions(connectionString: string, max: number) {
  return {
    connectionString,
    max,
    connectionTimeoutMillis: connectionTimeout,
    query_timeout: queryTimeout,
    application_name: 'ringback',
    keepAlive: true,
  };
}

/** The name of the inbox in a sentence for a person: never the user, the password, or the query of the URL. */
export function placeName({ connectionString, schema }: PostgresPlace): string {
  if (connectionString === undefined) return `the schema ${schema}`;
  if (!URL.canParse(connectionString)) return `Postgres, schema ${schema}`;
  const { host, pathname } = new URL(connectionString);
  return `postgres://${host}${pathname}, schema ${schema}`;
}
