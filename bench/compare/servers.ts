import type { Backend } from '../backend.ts';
import { events, inserted, jobs, keyedJobs, postgresBackend } from '../peers/postgres.ts';
import { redisBackend } from '../peers/redis.ts';
import { type Start, serveCommand, serverFile } from '../processes.ts';
import type { ServerKey } from './results.ts';

/** A server to compare. */
export interface Server {
  readonly name: string;
  readonly start: Start;
  readonly stores: boolean;
  /** Starts the database server that it stores in, unless it stores in a file. */
  readonly backend?: () => Promise<Backend>;
}

/** The servers that receive the same signed deliveries. */
export const servers: Readonly<Record<ServerKey, Server>> = {
  a: { name: '(a) node:http', start: serverFile('a-node.ts'), stores: false },
  b: { name: '(b) Express, stores nothing', start: serverFile('b-express.ts'), stores: false },
  c: { name: '(c) Express, @octokit/webhooks', start: serverFile('c-octokit.ts'), stores: false },
  d: { name: '(d) what a user would write', start: serverFile('d-handwritten.ts'), stores: true },
  e: { name: '(e) Ringback in Express', start: serverFile('e-mounted.ts'), stores: true },
  f: { name: '(f) ringback serve', start: serveCommand, stores: true },
  g: {
    name: '(g) Ringback in Express, on Postgres',
    start: serverFile('g-postgres.ts'),
    stores: true,
    backend: () => postgresBackend(events),
  },
  h: {
    name: '(h) one insert in Postgres',
    start: serverFile('h-insert.ts'),
    stores: true,
    backend: () => postgresBackend(inserted),
  },
  i: {
    name: '(i) pg-boss',
    start: serverFile('i-pg-boss.ts'),
    stores: true,
    backend: () => postgresBackend(jobs),
  },
  j: {
    name: '(j) graphile-worker',
    start: serverFile('j-graphile-worker.ts'),
    stores: true,
    backend: () => postgresBackend(keyedJobs),
  },
  k: {
    name: '(k) BullMQ',
    start: serverFile('k-bullmq.ts'),
    stores: true,
    backend: redisBackend,
  },
};

/** The keys of those that the comparison runs, in the order in which they are run. */
export const everyServer: readonly ServerKey[] = ['a', 'b', 'c', 'd', 'e', 'f'];

/** The keys of the peers: other stores of events. */
export const everyPeer = ['h', 'i', 'j', 'k'] as const;
