interface Flight extends PromiseWithResolvers<void> {
  count: number;
}

/** Counts the unsettled events and deliveries of each call, so that callers can wait for them. */
export class InFlight {
  readonly #calls = new Map<string, Flight>();

  enter(callId: string): void {
    const call = this.#calls.get(callId) ?? { count: 0, ...Promise.withResolvers<void>() };
    call.count += 1;
    this.#calls.set(callId, call);
  }

  leave(callId: string): void {
    const call = this.#calls.get(callId);
    if (!call || (call.count -= 1) > 0) return;
    this.#calls.delete(callId);
    call.resolve();
  }

  /** Resolves when nothing of this call is in flight, or `end` is called. */
  async settledCall(callId: string): Promise<void> {
    await this.#calls.get(callId)?.promise;
  }

  /** Resolves when nothing at all is in flight, or `end` is called. */
  async settled(): Promise<void> {
    while (this.#calls.size > 0) {
      const flights = [...this.#calls.values()];
      await Promise.all(flights.map(({ promise }) => promise));
    }
  }

  /** Resolves all waits, because the sandbox stops. */
  end(): void {
    for (const { resolve } of this.#calls.values()) resolve();
    this.#calls.clear();
  }
}
