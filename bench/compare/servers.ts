import type { Backend } from '../backend.ts';
import { events, inserted, jobs, postgresBackend } from '../peers/postgres.ts';
import { redisBackend } from '../peers/redis.ts';
import { type Start, serveCommand, serverFile } from '../processes.ts';
import type { ServerKey } from './results.ts';

/** A server to compare. */
export interface Server {
  readonly name: string;
  readonly start: Start;
  readonly stores: boolean;
  /** Starts what it stores in, if that is no file. */
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
  p1: {
    name: '(p1) one insert in Postgres',
    start: serverFile('p1-insert.ts'),
    stores: true,
    backend: () => postgresBackend(inserted),
  },
  p2: {
    name: '(p2) pg-boss',
    start: serverFile('p2-pg-boss.ts'),
    stores: true,
    backend: () => postgresBackend(jobs),
  },
  p3: {
    name: '(p3) BullMQ',
    start: serverFile('p3-bullmq.ts'),
    stores: true,
    backend: redisBackend,
  },
};

/** The keys of those that the comparison runs, in the order in which they are run. */
export const everyServer: readonly ServerKey[] = ['a', 'b', 'c', 'd', 'e', 'f'];

/** The keys of those that the comparison with peers runs. */
export const everyPeer: readonly ServerKey[] = ['d', 'e', 'g', 'p1', 'p2', 'p3'];
