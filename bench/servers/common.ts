import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { SchemeName } from '../../src/index.ts';

/** Made up for the benchmark. */
export const secret = 'whsec_YmVuY2htYXJrLXNlY3JldC1vZi0zMi1ieXRlcy0hIQ==';
/** The scheme of comparable libraries: the hex digest of the body, with the whole secret as the key. */
export const scheme: SchemeName = 'sha256-hex-whole';

/** What a server reports once it listens. */
export interface Listening {
  readonly port: number;
  /** How long it took from making its parts to listening, in milliseconds. */
  readonly openedIn: number;
}

/** Milliseconds from the end of the answer to the start of the handler. */
export interface Lag {
  readonly p50: number;
  readonly p99: number;
}

/** What a server reports about itself when asked. None of it costs the server more than a moment. */
export interface ServerReport {
  /** The longest stall of the event loop since the measurement began, in milliseconds. */
  readonly stall: number;
  /** The longest turn of the event loop, in milliseconds of CPU time; undefined unless it was asked for. */
  readonly turn: number | undefined;
  /** Resident memory, in megabytes. */
  readonly memory: number;
  /** The CPU time of all its threads since the measurement began, in microseconds. */
  readonly cpu: number;
  readonly lag: Lag | undefined;
}

/** How often the handler has run since the measurement began; undefined for a server that has none. */
export interface Handled {
  readonly handled?: number | undefined;
}

/** `begin` forgets what was measured so far, `report` and `handled` ask for it, `end` ends the process in order. */
export type Question = 'begin' | 'report' | 'handled' | 'end';

/** What a server can do besides serving. */
export interface Extras {
  readonly openedIn?: () => number;
  readonly begin?: () => void;
  readonly lag?: () => Lag;
  readonly turn?: () => number;
  readonly handled?: () => number;
  readonly stop?: () => Promise<void>;
}

/** How often the event loop's delay is sampled, in milliseconds. */
const resolution = 1;
/** The backlog of connections that `ringback serve` uses: see `src/http/listening.ts`. */
const backlog = 4_096;
/** As long as `ringback serve` keeps an idle connection: the load must not use one that is just being closed. */
const keepAlive = 75_000;

/** The server's database file, or the address of what it stores in, from its command line. */
export function databaseFile(): string {
  const file = process.argv[2];
  if (file === undefined) throw new Error('A server that stores needs a database file as its first argument');
  return file;
}

/** Listens on a port that the system chooses, reports it, and answers questions until told to end. */
export function serve(server: Server, extras: Extras = {}): void {
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  let cpuBefore = process.cpuUsage();
  const cpuSince = () => {
    const { user, system } = process.cpuUsage(cpuBefore);
    return user + system;
  };
  const report = (): ServerReport => ({
    // The histogram records the time between two samples; their interval is no stall.
    stall: Math.max(0, delay.max / 1e6 - resolution),
    turn: extras.turn?.(),
    memory: process.memoryUsage.rss() / 2 ** 20,
    cpu: cpuSince(),
    lag: extras.lag?.(),
  });
  const end = async () => {
    await extras.stop?.();
    process.exit(0);
  };
  const answers: Record<Question, () => void> = {
    begin: () => {
      delay.reset();
      cpuBefore = process.cpuUsage();
      extras.begin?.();
      process.send?.('begun');
    },
    report: () => process.send?.(report()),
    handled: () => process.send?.({ handled: extras.handled?.() } satisfies Handled),
    end: () => void end(),
  };
  server.keepAliveTimeout = keepAlive;
  process.on('message', (question: Question) => answers[question]());
  // The benchmark was interrupted, and nothing else ends this process.
  process.on('disconnect', () => process.exit(1));
  server.listen({ port: 0, host: '127.0.0.1', backlog }, () => {
    const { port } = server.address() as AddressInfo;
    process.send?.({ port, openedIn: extras.openedIn?.() ?? 0 } satisfies Listening);
  });
}
