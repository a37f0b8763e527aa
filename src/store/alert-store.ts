/** The part of the store that keeps which alerts are raised, so that one of all processes tells of each. */

/** An alert that is raised. Times in milliseconds since 1970. */
export interface KeptAlert {
  readonly name: string;
  /** What it is about, such as a handler; empty if there is only one of its kind. */
  readonly subject: string;
  readonly since: number;
  /** How it stands, in a sentence. */
  readonly message: string;
  /** When a process last found it. */
  readonly foundAt: number;
  /** Whether somebody was notified of it, and not only the log. */
  readonly isNotified: boolean;
}

/** An alert that has been found. */
export interface FoundAlert extends Pick<KeptAlert, 'name' | 'subject' | 'message'> {
  readonly now: number;
  /** Whether the caller notifies somebody, and not only the log: nobody is, of what only others' logs have told of. */
  readonly notifies: boolean;
  /** One that was last told of before this is told of again. */
  readonly toldBefore: number;
}

/** An alert that is for the caller to tell of. */
export interface ToTell {
  readonly since: number;
  /** Whether nobody has been told of it yet. */
  readonly isNew: boolean;
}

/** How many runs of a handler are dead letters. */
export interface DeadRuns {
  readonly handler: string;
  readonly count: number;
}

export interface AlertStore {
  /**
   * Raises an alert, or keeps what it says up to date. Resolves to undefined if somebody else tells of it, or has told of it
   * lately.
   */
  raise(alert: FoundAlert): Promise<ToTell | undefined>;
  /** The caller could not notify anybody: whoever finds it next, and can, does. */
  untold(name: string, subject: string): Promise<void>;
  /**
   * Ends an alert. Resolves to what is for the caller to tell of: whether somebody had been notified of it; to undefined if it was
   * not raised.
   */
  end(name: string, subject: string): Promise<Pick<KeptAlert, 'isNotified'> | undefined>;
  /** In order of their names and subjects. */
  list(): Promise<readonly KeptAlert[]>;
  /** Of each handler, how many runs are dead letters of groups that are not muted; together, counted up to a limit. Most first. */
  deadRuns(limit: number): Promise<readonly DeadRuns[]>;
}
