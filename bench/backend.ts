/** Counts what a server has stored, from outside of it. */
export interface Counter {
  /** A mark, after which a later count begins. */
  last(): number | Promise<number>;
  /** How many events were stored after a mark. */
  storedSince(mark: number): number | Promise<number>;
  /** How many events and runs are not handled and marked done. */
  open(): number | Promise<number>;
  close(): void | Promise<void>;
}

/** A database server that a server under test stores in, started for one run of it. */
export interface Backend {
  /** What the server under test gets in place of a file. */
  readonly address: string;
  /** Begins to count, once the server under test has made its tables. */
  readonly counter: () => Promise<Counter>;
  /** Ends it, and removes what it has stored. */
  readonly close: () => Promise<void>;
}
