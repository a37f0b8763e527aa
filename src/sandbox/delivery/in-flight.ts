/** Counts the unsettled events and deliveries, by call and in all, so that callers can wait for them. */
export class InFlight {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();
  #waitingForAll: (() => void)[] = [];

  enter(callId: string): void {
    this.#counts.set(callId, (this.#counts.get(callId) ?? 0) + 1);
  }

  leave(callId: string): void {
    const left = (this.#counts.get(callId) ?? 0) - 1;
    if (left > 0) {
      this.#counts.set(callId, left);
      return;
    }
    this.#counts.delete(callId);
    for (const resolve of this.#waiting.get(callId) ?? []) resolve();
    this.#waiting.delete(callId);
    if (this.#counts.size === 0) this.#releaseAll();
  }

  /** Resolves when nothing of this call is in flight, or `end` is called. */
  async settledCall(callId: string): Promise<void> {
    if (!this.#counts.has(callId)) return;
    await new Promise<void>((resolve) => {
      this.#waiting.set(callId, [...(this.#waiting.get(callId) ?? []), resolve]);
    });
  }

  /** Resolves when nothing at all is in flight, or `end` is called. */
  async settled(): Promise<void> {
    if (this.#counts.size === 0) return;
    await new Promise<void>((resolve) => this.#waitingForAll.push(resolve));
  }

  /** Resolves all waits, because the sandbox stops. */
  end(): void {
    this.#counts.clear();
    for (const resolve of [...this.#waiting.values()].flat()) resolve();
    this.#waiting.clear();
    this.#releaseAll();
  }

  #releaseAll(): void {
    for (const resolve of this.#waitingForAll.splice(0)) resolve();
  }
}
