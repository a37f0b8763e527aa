/** A real Postgres server on this machine, from the programs that npm has installed. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { uncommonPort } from './free-port.ts';
import { databasesFolder } from './memory-folder.ts';
import { copyPrograms, installedPrograms, own, programsPackage, serverOwner } from './postgres-programs.ts';
import { copyForStandby } from './postgres-standby.ts';

/** How a server stops: `smart` waits for clients, `fast` ends them, and after `immediate` the next start recovers. */
export type StopMode = 'smart' | 'fast' | 'immediate';

export interface PostgresOptions {
  /** Values of `postgresql.conf`, for example `{ max_connections: 20, fsync: 'on' }`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

export interface PostgresServer {
  /** The superuser's connection string of the database `postgres`. It stays the same when the server restarts. */
  readonly url: string;
  readonly port: number;
  readonly dataFolder: string;
  /** Starts a server that has stopped, and resolves when it takes connections. */
  start(): Promise<void>;
  /** Resolves when all of its processes are gone. */
  stop(mode?: StopMode): Promise<void>;
  /** Kills the main process. The others end when they notice; resolves when all have. */
  kill(): Promise<void>;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
  /** Stops the server for good, and removes its folders. */
  close(): Promise<void>;
}

const defaults = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 300,
  // Off, so that tests don't wait for a busy disk: a killed process loses nothing that it has written, only a power cut
  // does.
  fsync: process.env['RINGBACK_TEST_POSTGRES_FSYNC'] ?? 'off',
  // Files in the data folder, which are removed with it, even after a kill.
  dynamic_shared_memory_type: 'mmap',
};

/** Starts a new, empty server. The caller closes it; if this process ends before that, a guard does. */
export function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  return startFilled(options, (server) => server.initialise());
}

/** Starts a standby that follows a running server until it is promoted. */
export function startStandby(
  primary: PostgresServer,
  options: PostgresOptions = {},
): Promise<PostgresServer> {
  const primaryAddress = `host=127.0.0.1 port=${primary.port} user=postgres`;
  return startFilled({ settings: { ...options.settings, primary_conninfo: primaryAddress } }, (server) =>
    copyForStandby(primary, server.dataFolder),
  );
}

async function startFilled(
  options: PostgresOptions,
  fill: (server: Server) => Promise<void>,
): Promise<PostgresServer> {
  const installed = installedPrograms();
  if (installed === undefined) throw new Error(`${programsPackage} is not installed.`);
  // Separate, because memory may be mounted so that programs can't be started from it.
  const [programs, data] = [tmpdir(), databasesFolder].map((place) => {
    const folder = mkdtempSync(join(place, 'ringback-postgres-'));
    own(folder);
    return folder;
  }) as [string, string];
  const server = new Server({ programs, data }, { ...defaults, ...options.settings });
  try {
    copyPrograms(installed, server.programs);
    await fill(server);
    await server.startOnFreePort();
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** What a server prints that can't listen, on every platform. */
const portTaken = 'could not create any TCP/IP sockets';

class Server implements PostgresServer {
  readonly programs: string;
  readonly dataFolder: string;
  readonly #folders: readonly string[];
  readonly #settings: Readonly<Record<string, string | number>>;
  readonly #guard: ChildProcess;
  #port = 0;
  #process: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    { programs, data }: { readonly programs: string; readonly data: string },
    settings: Readonly<Record<string, string | number>>,
  ) {
    this.#folders = [programs, data];
    this.#settings = settings;
    this.programs = join(programs, 'programs');
    this.dataFolder = join(data, 'data');
    this.#guard = startGuard(this.dataFolder, this.#folders);
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  async initialise(): Promise<void> {
    const options = ['--no-locale', '-E', 'UTF8', '-A', 'trust', '-U', 'postgres', '--no-sync'];
    await this.#run('initdb', '-D', this.dataFolder, ...options);
  }

  /**
   * Starts on a random port below the ephemeral range. A port of that range could be taken while the server is stopped,
   * even by a client that tries to reach it.
   */
  async startOnFreePort(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      this.#port = uncommonPort();
      try {
        await this.start();
        return;
      } catch (error) {
        if (tries === 20 || !String(error).includes(portTaken)) throw error;
      }
    }
  }

  async start(): Promise<void> {
    if (this.#process) throw new Error('The server runs already.');
    const settings = Object.entries({ ...this.#settings, port: this.#port });
    const child = spawn(
      this.#program('postgres'),
      ['-D', this.dataFolder, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      // Detached, so that an interrupt from the keyboard doesn't reach it.
      { ...this.#environment(), detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process = child;
    const ready = untilReady(child);
    this.#ended = this.#untilEnded(child);
    if (child.pid !== undefined) this.#guard.stdin?.write(`${child.pid}\n`);
    try {
      await ready;
    } catch (error) {
      await this.#ended;
      throw error;
    }
  }

  async #untilEnded(child: ChildProcess): Promise<void> {
    // All processes of the server hold its stderr, which closes when the last of them is gone. `once` rejects if the
    // server could not be started.
    await once(child, 'close').catch(() => {});
    this.#process = undefined;
    this.#guard.stdin?.write('\n');
  }

  async stop(mode: StopMode = 'fast'): Promise<void> {
    if (!this.#process) return;
    // Not a signal, because Windows has none.
    await this.#run('pg_ctl', 'stop', '-m', mode, '-D', this.dataFolder, '--no-wait');
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.#ended;
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', 'promote', '-D', this.dataFolder);
  }

  async close(): Promise<void> {
    try {
      await this.stop('immediate');
    } finally {
      await this.kill();
      for (const folder of this.#folders)
        await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
      this.#guard.stdin?.end();
    }
  }

  #program(name: string): string {
    return join(this.programs, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  }

  async #run(program: string, ...args: string[]): Promise<void> {
    await promisify(execFile)(this.#program(program), args, this.#environment());
  }

  #environment() {
    // The server's user may lack access to this process's folder. LC_ALL keeps messages in English.
    return { ...serverOwner, cwd: '/', env: { ...process.env, LC_ALL: 'C' } };
  }
}

/** Resolves when the server takes connections; rejects with what it printed if it ends before that. */
function untilReady(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let printed = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    // Keeps only the end: a server that runs for long prints much.
    printed = (printed + text).slice(-10_000);
    if (/database system is ready to accept (read-only )?connections/.test(printed)) resolve();
  });
  child.once('error', reject);
  child.once('close', () => reject(new Error(`The Postgres server has ended. ${printed}`)));
  return promise;
}

function startGuard(dataFolder: string, folders: readonly string[]): ChildProcess {
  const script = fileURLToPath(new URL('./postgres-guard.ts', import.meta.url));
  const guard = spawn(process.execPath, [script, dataFolder, ...folders], {
    // Detached, so that a signal to this process's group doesn't end the guard.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => {});
  guard.stdin.on('error', () => {});
  // The guard must not keep this process alive.
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}
