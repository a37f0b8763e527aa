/** A gate that a handler waits at until the test opens it. */
export class Gate {
  readonly #arrived = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  /** Resolves when somebody waits at the gate. */
  readonly reached = this.#arrived.promise;

  /** Waits until the gate is open. */
  pass = async (): Promise<void> => {
    this.#arrived.resolve();
    await this.#opened.promise;
  };

  open(): void {
    this.#opened.resolve();
  }
}
