import type { Clock } from '../../kit/clock.ts';
import type { Session } from './connection/session.ts';
import type { Verbs } from './connection/verbs.ts';
import type { OperationName, Operations } from './writer/operations.ts';
import type { ResultOf, WriteLimits } from './writer/writer.ts';

/** How a part of the store reads and writes. */
export class Access {
  readonly clock: Clock;
  readonly #session: Session;

  constructor(session: Session, clock: Clock) {
    this.#session = session;
    this.clock = clock;
  }

  /** Reads at once, and everything as it was at one moment; in WAL mode a reader never waits. */
  async read<T>(operation: (verbs: Verbs) => T): Promise<T> {
    return this.#session.read(operation);
  }

  /** Writes in the next commit. */
  write<Name extends OperationName>(
    name: Name,
    args: Parameters<Operations[Name]>,
    limits?: WriteLimits,
  ): Promise<ResultOf<Name>> {
    return this.#session.write(name, args, limits);
  }

  /** Has due times corrected for what is written next: the wall clock may have been set. */
  requestCorrection(): void {
    this.#session.requestCorrection();
  }
}
