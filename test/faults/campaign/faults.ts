import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/kit/clock.ts';
import type { Cluster } from './cluster.ts';
import type { Fleet } from './fleet.ts';
import type { History } from './history.ts';

const minute = 60_000;

/** What can go wrong, and how often it does against each other. */
const weights = {
  'kill -9': 8,
  SIGSTOP: 4,
  'clock set': 4,
  'connections cut': 5,
  'connections cut silently': 3,
  'answers to COMMIT cut': 5,
  'network frozen': 3,
  'backends terminated': 5,
  'backend killed': 1,
  'database crashed': 2,
  failover: 1,
};

export type Fault = keyof typeof weights;

export const allFaults = Object.keys(weights) as readonly Fault[];
/** Those of which there is one at a time: each waits until the database is whole again. */
const ofDatabase: ReadonlySet<Fault> = new Set(['backend killed', 'database crashed', 'failover']);
/** Those for which another receiver has to run meanwhile. */
const ofReceiver: ReadonlySet<Fault> = new Set(['kill -9', 'SIGSTOP']);

export interface FaultParts {
  readonly cluster: Cluster;
  readonly fleet: Fleet;
  readonly history: History;
  readonly random: Random;
  /** The faults to choose from. */
  readonly kinds: readonly Fault[];
  /** How long a receiver is suspended, at least and at most, in milliseconds. */
  readonly suspension: readonly [number, number];
}

/** Makes faults. Those that take long go on while others are made. */
export class Faults {
  readonly #parts: FaultParts;
  readonly #goingOn = new Set<Promise<void>>();
  #database: Promise<void> | undefined;

  constructor(parts: FaultParts) {
    this.#parts = parts;
  }

  /** A fault by chance that is possible now, if any is. */
  next(): Fault | undefined {
    const possible = this.#parts.kinds.filter((fault) => this.#isPossible(fault));
    let drawn = this.#parts.random() * possible.reduce((sum, fault) => sum + weights[fault], 0);
    for (const fault of possible) {
      drawn -= weights[fault];
      if (drawn < 0) return fault;
    }
    return undefined;
  }

  /** Begins a fault. */
  async make(fault: Fault): Promise<void> {
    if (ofDatabase.has(fault)) await this.#database;
    const making = this.#made(fault);
    this.#goingOn.add(making);
    const over = making.finally(() => this.#goingOn.delete(making));
    if (ofDatabase.has(fault)) this.#database = over.finally(() => (this.#database = undefined));
    // Whoever waits for the end learns of a failure.
    over.catch(() => {});
  }

  /** Resolves when everything is whole again. */
  async over(): Promise<void> {
    await Promise.all(this.#goingOn);
  }

  #isPossible(fault: Fault): boolean {
    if (ofDatabase.has(fault)) return this.#database === undefined;
    if (ofReceiver.has(fault)) return this.#parts.fleet.running.length > 1;
    return fault !== 'clock set' || this.#parts.fleet.running.length > 0;
  }

  async #made(fault: Fault): Promise<void> {
    const { cluster, fleet, random } = this.#parts;
    const { proxy } = cluster;
    const some = () => random() < 0.4;
    switch (fault) {
      case 'kill -9': {
        const place = this.#receiver();
        this.#note(fault, `receiver ${place}`);
        await fleet.kill(place);
        return fleet.start(place, this.#offset());
      }
      case 'SIGSTOP':
        return this.#suspended();
      case 'clock set': {
        const [place, offset] = [this.#receiver(), this.#offset()];
        this.#note(fault, `receiver ${place}, ${Math.round(offset / 1_000)} s`);
        return fleet.setClock(place, offset);
      }
      case 'connections cut':
        this.#note(fault, `some of ${proxy.connections}`);
        return proxy.cut(some);
      case 'connections cut silently':
        this.#note(fault, `some of ${proxy.connections}`);
        return proxy.cutSilently(some, 1_000 + random() * 10_000);
      case 'answers to COMMIT cut': {
        const count = 1 + Math.floor(random() * 5);
        this.#note(fault, `${count}`);
        return proxy.cutAtCommit(count);
      }
      case 'network frozen': {
        const ms = 500 + random() * 9_500;
        this.#note(fault, `${Math.round(ms)} ms`);
        return proxy.freeze(ms);
      }
      case 'backends terminated': {
        const count = 1 + Math.floor(random() * 6);
        this.#note(fault, `${count}`);
        // While the database is away there are none.
        return cluster.terminateBackends(count).catch(() => {});
      }
      case 'backend killed':
        this.#note(fault);
        return cluster.crashBackend();
      case 'database crashed':
        this.#note(fault);
        return cluster.crash();
      case 'failover':
        this.#note(fault);
        return cluster.failOver();
    }
  }

  async #suspended(): Promise<void> {
    const { fleet, random, suspension } = this.#parts;
    const [min, max] = suspension;
    const [place, ms] = [this.#receiver(), min + random() * (max - min)];
    this.#note('SIGSTOP', `receiver ${place}, ${Math.round(ms / 1_000)} s`);
    fleet.suspend(place);
    await pause(ms);
    fleet.resume(place);
  }

  #note(fault: Fault, detail?: string): void {
    this.#parts.history.write({ kind: 'fault', fault, ...(detail === undefined ? {} : { detail }) });
  }

  #receiver(): number {
    const { fleet, random } = this.#parts;
    const { running } = fleet;
    return running[Math.floor(random() * running.length)] ?? 0;
  }

  /** Signatures are good for five minutes. */
  #offset(): number {
    return Math.round((this.#parts.random() * 2 - 1) * 4 * minute);
  }
}
