import type { Session } from '../connection/session.ts';
import type { Processes } from './processes.ts';

/** If a heartbeat waits longer for its write, in milliseconds, other processes could not write theirs either. */
const trustedWait = 1_000;

/** Writes this process's heartbeats, takes over what dead processes held, and notices what other processes write. */
export class Liveness {
  readonly #session: Session;
  readonly #subscribers = new Set<() => void>();
  #dataVersion = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Resolves to how many claims were taken over. */
  async keepAlive(): Promise<number> {
    const takenOver = await this.#takeOverDead();
    this.#notify();
    return takenOver;
  }

  subscribe(onWork: () => void): () => void {
    this.#subscribers.add(onWork);
    return () => void this.#subscribers.delete(onWork);
  }

  async #takeOverDead(): Promise<number> {
    const askedAt = this.#session.clock.elapsed();
    await this.#session.clockJumps.agree();
    const { statements, wal } = this.#session.opened();
    const { processes, claims, notedWal } = statements;
    const isAlone = !processes.hasOthers() && processes.dead().length === 0;
    // An idle receiver without company leaves the disk alone. While it has claims, it notes the time, so that due times
    // are right after a crash even if the next clock starts too early.
    if (isAlone && !claims.hasAny() && (!wal || notedWal.isNoted())) return 0;
    const isPrompt = await this.#heartbeat(processes, askedAt);
    // While the database was locked no process could write a heartbeat, so counting missed ones starts again.
    if (!isPrompt) processes.forgiveMissedHeartbeats();
    const dead = [...processes.dead(), ...(isPrompt ? processes.withoutHeartbeats() : [])];
    return dead.length === 0 ? 0 : this.#session.write('membership', 'takeOver', [dead]);
  }

  /** Writes a heartbeat; resolves to whether that was possible at once. */
  async #heartbeat(processes: Processes, askedAt: number): Promise<boolean> {
    try {
      const { clock } = this.#session;
      const { wal } = this.#session.opened();
      processes.id = await this.#session.write('membership', 'heartbeat', [clock.now(), wal]);
    } catch (error) {
      processes.forgiveMissedHeartbeats();
      throw error;
    }
    return this.#session.clock.elapsed() - askedAt <= trustedWait;
  }

  /**
   * Notifies subscribers if another connection has written. SQLite doesn't say which: this process's own writer counts
   * too, so a busy process looks for work with each heartbeat, which costs it one short read of each handler's due runs
   * and one claim. An idle process is left alone.
   */
  #notify(): void {
    const version = this.#session.opened().statements.overview.dataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    for (const onWork of this.#subscribers) onWork();
  }
}
