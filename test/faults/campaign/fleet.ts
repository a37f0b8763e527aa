import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ReceiverArgument } from './terms.ts';

const receiverProcess = fileURLToPath(new URL('./receiver.ts', import.meta.url));

export interface FleetOptions {
  readonly connectionString: string;
  /** What deliveries are signed with. */
  readonly secret: string;
  readonly size: number;
  /** A folder for what the receivers print. */
  readonly folder: string;
  /** Called when a receiver has ended by itself. */
  readonly onEnded: (place: number, code: number | null) => void;
}

interface Member {
  child: ChildProcess | undefined;
  port: number | undefined;
  isSuspended: boolean;
  isToEnd: boolean;
  readonly log: WriteStream;
}

/** The receivers, each in a process of its own. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members: readonly Member[];

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#members = Array.from({ length: options.size }, (_, place) => ({
      child: undefined,
      port: undefined,
      isSuspended: false,
      isToEnd: false,
      log: createWriteStream(join(options.folder, `receiver-${place}.log`)),
    }));
  }

  /** Where receivers listen, suspended ones included: nobody tells whoever sends to them. */
  get ports(): readonly number[] {
    return this.#members.flatMap(({ port }) => port ?? []);
  }

  /** The places of the receivers that run. */
  get running(): readonly number[] {
    return [...this.#members.keys()].filter((place) => {
      const { port, isSuspended } = this.#member(place);
      return port !== undefined && !isSuspended;
    });
  }

  /** Starts a receiver. Resolves when it listens; one that ends before is started again. */
  async start(place: number, clockOffset: number): Promise<void> {
    const member = this.#member(place);
    const { connectionString, secret } = this.#options;
    const argument: ReceiverArgument = { connectionString, secret, clockOffset };
    for (;;) {
      const child = spawn(process.execPath, [receiverProcess, JSON.stringify(argument)], {
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      });
      member.child = child;
      member.isToEnd = false;
      child.stderr?.pipe(member.log, { end: false });
      const port = await this.#portOf(member, child);
      if (member.isToEnd) return;
      if (port !== undefined) {
        member.port = port;
        child.once('exit', (code) => this.#exited(place, code));
        return;
      }
    }
  }

  async kill(place: number): Promise<void> {
    const member = this.#member(place);
    member.port = undefined;
    member.isToEnd = true;
    member.isSuspended = false;
    const { child } = member;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  suspend(place: number): void {
    this.#member(place).isSuspended = true;
    this.#member(place).child?.kill('SIGSTOP');
  }

  resume(place: number): void {
    this.#member(place).child?.kill('SIGCONT');
    this.#member(place).isSuspended = false;
  }

  setClock(place: number, offset: number): void {
    this.#member(place).child?.send(offset);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#members.keys()].map((place) => this.kill(place)));
    for (const { log } of this.#members) log.end();
  }

  /** Resolves to undefined when the process ends without having listened: the database may be away as it starts. */
  #portOf(member: Member, child: ChildProcess): Promise<number | undefined> {
    return new Promise((resolve) => {
      child.once('exit', () => resolve(undefined));
      if (!child.stdout) return;
      createInterface({ input: child.stdout }).on('line', (text) => {
        member.log.write(`${text}\n`);
        const { port } = JSON.parse(text) as { readonly port?: number };
        if (port !== undefined) resolve(port);
      });
    });
  }

  #exited(place: number, code: number | null): void {
    const member = this.#member(place);
    if (member.isToEnd) return;
    member.port = undefined;
    this.#options.onEnded(place, code);
  }

  #member(place: number): Member {
    const member = this.#members[place];
    if (!member) throw new Error(`There is no receiver ${place}.`);
    return member;
  }
}
