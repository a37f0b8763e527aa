/**
 * The longest turn of the event loop, in milliseconds of this thread's own CPU time: on a busy machine, wall time says
 * more about the other processes.
 */
export class TurnWatch {
  #longest = 0;
  #since = 0;

  constructor() {
    const next = () => {
      const now = cpuTime();
      this.#longest = Math.max(this.#longest, now - this.#since);
      this.#since = now;
      setImmediate(next);
    };
    this.reset();
    setImmediate(next);
  }

  reset(): void {
    this.#longest = 0;
    this.#since = cpuTime();
  }

  get longest(): number {
    return this.#longest;
  }
}

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
