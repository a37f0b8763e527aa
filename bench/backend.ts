/** Counts what a server has stored, from outside the server. */
export interface Counter {
  /** A mark, after which a later count begins. */
  last(): number | Promise<number>;
  /** How many events were stored after a mark. */
  storedSince(mark: number): number | Promise<number>;
  /** How many events and runs are not handled and marked done. */
  open(): number | Promise<number>;
  close(): void | Promise<void>;
}

/** A database server for one run of a server under test. */
export interface Backend {
  /** The server under test gets this instead of a file. */
  readonly address: string;
  /** Returns a counter. Call it once the server under test has made its tables. */
  readonly counter: () => Promise<Counter>;
  /** Ends the database server, and removes its data. */
  readonly close: () => Promise<void>;
}
