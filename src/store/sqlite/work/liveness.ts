import type { Session } from '../connection/session.ts';
import type { Processes } from './processes.ts';

/** How long a heartbeat may wait for its write, in milliseconds: longer, and the others could not write theirs either. */
const trustedWait = 1_000;
/** How long a start waits to announce its handlers, in milliseconds: it is not worth holding up for a warning. */
const announceTimeout = 1_000;

/** Says that this process lives, and takes over what dead ones held. */
export class Liveness {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Resolves to how many claims were taken over. */
  async keepAlive(): Promise<number> {
    const askedAt = this.#session.clock.elapsed();
    await this.#session.agreeOnClock();
    const { processes, claims } = this.#session.opened().statements;
    const found = processes.dead();
    // A process writes nothing if it has no claims, found none dead and is watched by none: an idle receiver leaves
    // the disk alone.
    if (found.length === 0 && !processes.isWatched() && !claims.hasAny()) return 0;
    const isPrompt = await this.#heartbeat(processes, askedAt);
    // While the database was locked no process could write a heartbeat, so the missed ones are counted anew.
    if (!isPrompt) processes.forgiveMissedHeartbeats();
    const dead = [...processes.dead(), ...(isPrompt ? processes.lookAtSilent() : [])];
    return dead.length === 0 ? 0 : this.#session.write('takeOver', [dead]);
  }

  /** Resolves to the handlers of each other living process that has announced its own. */
  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    const { processes } = this.#session.opened().statements;
    const args = [handlers, processes.countsHeartbeats()] as const;
    return this.#session.write('announce', [...args], { timeout: announceTimeout });
  }

  /** Writes a heartbeat; resolves to whether that was possible at once. */
  async #heartbeat(processes: Processes, askedAt: number): Promise<boolean> {
    try {
      await this.#session.write('heartbeat', [this.#session.clock.now(), processes.countsHeartbeats()]);
    } catch (error) {
      processes.forgiveMissedHeartbeats();
      throw error;
    }
    return this.#session.clock.elapsed() - askedAt <= trustedWait;
  }
}
