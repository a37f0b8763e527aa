/** Makes a large inbox by SQL: a day's done events, five for each call, and some dead letters and retries. */
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { progress } from '../report.ts';

/** How many events one statement makes. */
const step = 250_000;
/** How many runs are dead letters, in 20 groups, and how many wait for a retry. */
const troubled = 2_000;

/** The built module that computes the keys of calls in SQLite. */
const keys = new URL('../../dist/store/event-record.js', import.meta.url).href;

/** Fills an inbox that a receiver has made and closed. */
export async function fillSqlite(file: string, events: number): Promise<void> {
  const { callKey } = (await import(keys)) as typeof import('../../src/store/event-record.ts');
  const database = new Database(file);
  // The file needn't survive a crash.
  database.pragma('synchronous = off');
  database.pragma('cache_size = -500000');
  database.function('call_key', { deterministic: true }, (id) => callKey(String(id)));
  const from = Date.now() - 86_400_000;
  for (let first = 1; first <= events; first += step) {
    const last = Math.min(first + step - 1, events);
    database.transaction(() => {
      database.prepare(sqliteEvents).run({ first, last, from });
      database.prepare(sqliteBodies).run({ first, last });
      database
        .prepare(
          `insert into call_events select sequence >> 16, call_key, sequence from events
           where sequence between @first and @last`,
        )
        .run({ first, last });
    })();
    progress(`${last} events in SQLite`);
  }
  database
    .prepare('update event_totals set last_sequence = ?, events = ?, indexed_sequence = ?')
    .run(events, events, events);
  for (const sql of troubles('', 'unixepoch() * 1000')) database.exec(sql);
  database.exec('analyze');
  database.pragma('wal_checkpoint(truncate)');
  database.close();
}

const sqliteEvents = `
  with recursive numbered (n) as (values (@first) union all select n + 1 from numbered where n < @last)
  insert into events
  select n, printf('trace-%032d', n), 'CallHandler.CallEnded', printf('call-%032d', n / 5),
    call_key(printf('call-%032d', n / 5)), 'organization', 'agent', @from + n / 150, @from + n / 150, '{"source":"body"}',
    null
  from numbered`;

const sqliteBodies = `
  with recursive numbered (n) as (values (@first) union all select n + 1 from numbered where n < @last)
  insert into bodies select n, '{}', cast(printf('{"traceId":"trace-%032d","eventName":"CallHandler.CallEnded","payload":%s}', n,
    printf('{"call_id":"call-%032d","text":"%.*c"}', n / 5, 200, 'x')) as blob) from numbered`;

/** Fills a Postgres inbox that a receiver has made. */
export async function fillPostgres(url: string, events: number, isTroubled = false): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (let first = 1; first <= events; first += step) {
      await client.query(postgresEvents, [first, Math.min(first + step - 1, events)]);
      progress(`${Math.min(first + step - 1, events)} events in Postgres`);
    }
    await client.query("select setval('ringback.sequences', $1)", [events]);
    const now = '(extract(epoch from now()) * 1000)::bigint';
    if (isTroubled) for (const sql of troubles('ringback.', now)) await client.query(sql);
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

const postgresEvents = `
  with numbered as materialized (
    select n, md5('trace' || n)::uuid::text as trace_id, md5('call' || n / 5)::uuid::text as call_id,
      (extract(epoch from now()) * 1000)::bigint - 86400000 + n / 150 as at
    from generate_series($1::bigint, $2::bigint) as g (n)
  ), identified as (
    insert into ringback.identities (identity, sequence)
    select decode(md5('identity' || n), 'hex'), n from numbered order by 1
  ), described as (
    insert into ringback.bodies (sequence, headers, body)
    select n, repeat('h', 300), convert_to(repeat(trace_id, 11), 'UTF8') from numbered
  )
  insert into ringback.events
    (sequence, trace_id, event_name, call_id, organization_id, agent_id, occurred_at, received_at, facts)
  select n, trace_id, 'CallHandler.CallEnded', call_id, 'organization', 'agent', at, at, '{"source":"body"}'
  from numbered`;

/** Dead letters and retries of the latest events, and two days of history. */
function troubles(schema: string, now: string): readonly string[] {
  const latest = `select sequence, call_id, row_number() over (order by sequence desc) as n
    from ${schema}events order by sequence desc limit ${2 * troubled}`;
  const numbers = (count: number) =>
    `with recursive numbered (n) as (select 0 union all select n + 1 from numbered where n + 1 < ${count})`;
  return [
    `insert into ${schema}failure_groups (fingerprint, handler, cause, message, first_seen_at)
     ${numbers(20)} select 'group-' || n, 'handler-0', 'Error', 'the CRM is down', ${now} from numbered`,
    `insert into ${schema}runs (sequence, handler, call_id, state, attempts, due_at, reason, settled_at, failure)
     select sequence, 'handler-0', call_id, case when n <= ${troubled} then 'dead' else 'due' end, 3,
       case when n <= ${troubled} then null else ${now} + 86400000 end, 'the CRM is down', ${now}, 'group-' || n % 20
     from (${latest}) latest`,
    ...Array.from(
      { length: 20 },
      (_, name) => `insert into ${schema}history (resolution, at, name, count)
        ${numbers(2_880)} select 'minute', (${now} / 60000 - n) * 60000, 'done:handler-${name}', 100 from numbered`,
    ),
  ];
}
