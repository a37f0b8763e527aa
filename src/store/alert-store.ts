/** The part of the store that keeps raised alerts, so that only one of all processes sends each. */

/** A raised alert. Times in milliseconds since 1970. */
export interface KeptAlert {
  readonly name: string;
  /** What it is about, such as a handler; empty if the alert's name says it all. */
  readonly subject: string;
  readonly since: number;
  /** The current situation, in a sentence. */
  readonly message: string;
  /** When a process last found that it still holds. */
  readonly foundAt: number;
  /** Whether somebody was notified; the log doesn't count. */
  readonly isNotified: boolean;
}

/** An alert that a process has found. */
export interface FoundAlert extends Pick<KeptAlert, 'name' | 'subject' | 'message'> {
  readonly now: number;
  /**
   * Whether it was raised before the caller looked. If it no longer is, another process has ended it since, and knows
   * better.
   */
  readonly wasRaised: boolean;
  /** Whether the caller notifies somebody: it does so even if another process has already logged the alert. */
  readonly notifies: boolean;
  /** An alert that was last sent before this time is sent again. */
  readonly sentBefore: number;
}

/** An alert that the caller is to send. */
export interface AlertToSend {
  readonly since: number;
  /** Whether it has not been sent yet. */
  readonly isNew: boolean;
}

/** How many runs of a handler are dead letters. */
export interface DeadRuns {
  readonly handler: string;
  readonly count: number;
}

export interface AlertStore {
  /**
   * Raises an alert, or updates its message. Resolves to undefined if it was sent recently, by this process or another,
   * or has been ended since the caller looked.
   */
  raise(alert: FoundAlert): Promise<AlertToSend | undefined>;
  /**
   * The caller could not notify anybody: the next process that finds the alert, and can notify, does. After a reminder,
   * somebody still knows of the alert: it has been sent, but before any other time.
   */
  markUnsent(name: string, subject: string, isReminder: boolean): Promise<void>;
  /** Ends an alert. Resolves to whether somebody was notified of it; to undefined if it was not raised. */
  end(name: string, subject: string): Promise<Pick<KeptAlert, 'isNotified'> | undefined>;
  /** Ordered by name and subject. */
  list(): Promise<readonly KeptAlert[]>;
  /** Of each handler, how many runs are dead letters of groups that are not muted; together, counted up to a limit. Most first. */
  deadRuns(limit: number): Promise<readonly DeadRuns[]>;
}
