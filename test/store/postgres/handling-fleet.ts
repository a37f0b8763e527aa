/** Receivers on one Postgres, each in a process of its own. */
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { testDatabase } from '../../support/postgres.ts';
import { Script } from '../../support/process.ts';

const handlingProcess = fileURLToPath(new URL('./handling-process.ts', import.meta.url));

/** Each process has a handler of each order, which is its name. */
export const orders = ['none', 'call', 'strict'] as const;
export type Order = (typeof orders)[number];

/** Where the inbox of all of them is. */
export interface Place {
  readonly connectionString: string;
  readonly schema: string;
}

/** One attempt of a handler. Times are those of the machine, in nanoseconds. */
export interface Attempt {
  readonly order: Order;
  readonly traceId: string;
  readonly callId: string;
  readonly began: number;
  readonly ended: number;
  readonly failed: boolean;
}

/** Starts receivers on an empty inbox. */
export async function startedFleet(count: number) {
  const { connectionString, schema } = await testDatabase();
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  const place: Place = { connectionString, schema };
  const scripts = Array.from({ length: count }, () => new Script(handlingProcess, JSON.stringify(place)));
  const urls = await Promise.all(scripts.map(async (script) => String((await script.line('url'))['url'])));
  const numberOf = async (sql: string) => {
    const { rows } = await client.query<{ count: number }>(`select (${sql})::integer as count`);
    return rows[0]?.count;
  };
  const open = `(select count(*) from ${schema}.waiting) + (select count(*) from ${schema}.claims)
    + (select count(*) from ${schema}.owned)
    + (select count(*) from ${schema}.runs where state in ('due', 'claimed', 'blocked'))`;
  return {
    urls,
    /** Waits until so many events are in the inbox and all of them are done, and ends the processes. */
    async ended(events: number): Promise<Attempt[]> {
      await expect.poll(() => numberOf(`select count(*) from ${schema}.events`)).toBe(events);
      await expect.poll(() => numberOf(open), { interval: 200 }).toBe(0);
      // What is still on its way would be done twice if it were claimed twice.
      await Promise.all(
        scripts.map(async (script) => {
          await script.stop();
          await script.line('stopped');
        }),
      );
      expect(await numberOf(open)).toBe(0);
      return scripts.flatMap((script) => script.said('attempt') as Attempt[]);
    },
    /** In which order the events arrived, by trace id. */
    async arrived(): Promise<ReadonlyMap<string, number>> {
      const { rows } = await client.query<{ trace_id: string }>(
        `select trace_id from ${schema}.events order by sequence`,
      );
      return new Map(rows.map((row, index) => [row.trace_id, index]));
    },
  };
}
