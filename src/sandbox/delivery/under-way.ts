/** Counts what has begun and is not settled, of each call and altogether, so that somebody can wait for it. */
export class UnderWay {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();
  #waitingForAll: (() => void)[] = [];

  /** Something of this call has begun. */
  enter(callId: string): void {
    this.#counts.set(callId, (this.#counts.get(callId) ?? 0) + 1);
  }

  /** Something of this call is settled. */
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

  /** Resolves when nothing of this call is under way, or nothing goes on. */
  async settledCall(callId: string): Promise<void> {
    if (!this.#counts.has(callId)) return;
    await new Promise<void>((resolve) => {
      this.#waiting.set(callId, [...(this.#waiting.get(callId) ?? []), resolve]);
    });
  }

  /** Resolves when nothing at all is under way, or nothing goes on. */
  async settled(): Promise<void> {
    if (this.#counts.size === 0) return;
    await new Promise<void>((resolve) => this.#waitingForAll.push(resolve));
  }

  /** Nothing goes on: who waits has waited for the last time. */
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
