/** (h) One `insert` into Postgres for each delivery and nothing else: no handler, and no mark that it is done. */
import { Pool } from 'pg';
import { databaseFile, serve } from './common.ts';
import { verifiedServer } from './verified.ts';

const pool = new Pool({ connectionString: databaseFile(), max: 10 });
await pool.query(`create table if not exists events (
  trace_id text primary key, event_name text, call_id text, body bytea, received_at bigint)`);
/** Named, so that each connection plans it once. */
const insert = {
  name: 'insert',
  text: 'insert into events values ($1, $2, $3, $4, $5) on conflict do nothing',
};

serve(
  verifiedServer(async ({ event, body }) => {
    const values = [event.traceId, event.eventName, event.payload.call_id, body, Date.now()];
    const { rowCount } = await pool.query({ ...insert, values });
    return rowCount === 1;
  }),
  { stop: () => pool.end() },
);
