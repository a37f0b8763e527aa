import { type Start, serveCommand, serverFile } from '../processes.ts';
import type { ServerKey } from './results.ts';

/** A server to compare. */
export interface Server {
  readonly name: string;
  readonly start: Start;
  readonly stores: boolean;
}

/** The servers that receive the same signed deliveries. */
export const servers: Readonly<Record<ServerKey, Server>> = {
  a: { name: '(a) node:http', start: serverFile('a-node.ts'), stores: false },
  b: { name: '(b) Express, stores nothing', start: serverFile('b-express.ts'), stores: false },
  c: { name: '(c) Express, @octokit/webhooks', start: serverFile('c-octokit.ts'), stores: false },
  d: { name: '(d) what a user would write', start: serverFile('d-handwritten.ts'), stores: true },
  e: { name: '(e) Ringback in Express', start: serverFile('e-mounted.ts'), stores: true },
  f: { name: '(f) ringback serve', start: serveCommand, stores: true },
};

/** Their keys, in the order in which they are run. */
export const everyServer: readonly ServerKey[] = ['a', 'b', 'c', 'd', 'e', 'f'];
