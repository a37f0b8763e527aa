/** What the parts of dispatch tell the dispatcher, whose loop takes events from the inbox to their handlers. */
export interface Loop {
  /** Begins the runs that may begin. Call it when something has become free that runs wait for. */
  readonly beginReady: () => void;
  /** Begins what may begin, and claims more if there is room. Call it when something has been placed or has ended. */
  readonly goOn: () => void;
  /** Looks for work. Call it when there may be new due runs in the inbox. */
  readonly wake: () => void;
  /** Lets a stop wait for work, and logs its error. */
  readonly follow: (work: Promise<unknown>) => void;
}
