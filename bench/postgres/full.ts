import { Client } from 'pg';
import { postgresBackend, events as counts } from '../peers/postgres.ts';
import type { Part } from '../peers/peers.ts';
import { type Measured, measure } from '../measure.ts';
import { serverFile } from '../processes.ts';
import { median, progress, table } from '../report.ts';

/** How many events are made by one statement. */
const step = 250_000;

/** Compares the rates with a full and an empty inbox, in alternation. The events of the full one are made by SQL. */
export async function measureFull(events: number, rounds: number): Promise<Part> {
  const start = serverFile('g-postgres.ts');
  const backend = await postgresBackend(counts);
  try {
    await (await start(backend.address)).end();
    await fill(backend.address, events);
    const setting = { start, stores: true, connections: 32, body: '0.4 KB', seconds: 8 } as const;
    const empty: Measured[] = [];
    const full: Measured[] = [];
    const kept = { ...backend, close: () => Promise.resolve() };
    for (let round = 1; round <= rounds; round += 1) {
      empty.push(await measure({ ...setting, backend: () => postgresBackend(counts) }));
      full.push(await measure({ ...setting, backend: () => Promise.resolve(kept) }));
      const [emptyRate, fullRate] = [empty, full].map((runs) => Math.round(runs.at(-1)?.rate ?? 0));
      progress(`round ${round}: ${emptyRate}/s into an empty inbox, ${fullRate}/s into the full one`);
    }
    const row = (inbox: string, runs: readonly Measured[]) => [
      inbox,
      median(runs.map(({ rate }) => rate)).toFixed(0),
      median(runs.map(({ p99 }) => p99)).toFixed(1),
      runs.flatMap(({ problem }) => problem ?? [])[0] ?? 'yes',
    ];
    const rows = [row('empty', empty), row(`${events} events`, full)];
    return {
      targets: [
        {
          name: `rate of (g) with ${events} events in the inbox ÷ empty`,
          bound: 'at least',
          value: 0.85,
          reached: median(full.map(({ rate }, round) => rate / (empty[round]?.rate ?? Number.NaN))),
          problem: [...empty, ...full].flatMap(({ problem }) => problem ?? [])[0],
        },
      ],
      lines: [
        '## A full inbox, 32 connections',
        '',
        ...table(['inbox', 'deliveries/s', 'p99 ms', 'valid'], rows),
      ],
    };
  } finally {
    await backend.close();
  }
}

/**
 * Makes events that are done, five of a call, each with an identity, headers and a body, as a receiver writes them. They came
 * yesterday: retention removes none of them while the inbox is measured.
 */
async function fill(url: string, events: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (let first = 1; first <= events; first += step) {
      await client.query(someEvents, [first, Math.min(first + step - 1, events)]);
      progress(`${Math.min(first + step - 1, events)} events`);
    }
    await client.query("select setval('ringback.sequences', $1)", [events]);
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

const someEvents = `
  with numbered as materialized (
    select n, md5('trace' || n)::uuid::text as trace_id, md5('call' || n / 5)::uuid::text as call_id,
      (extract(epoch from now()) * 1000)::bigint - 86400000 + n / 100 as at
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
