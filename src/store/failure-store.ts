/** The part of the store that keeps failed attempts, and groups those that are alike. */

/** How many failures of a run are kept: the latest. */
export const maxFailures = 20;

/**
 * How many of the latest groups are always kept. Older ones are removed once no run belongs to them, unless they are
 * muted.
 */
export const maxGroups = 1_000;

/**
 * How many of those older groups are checked for runs with each new group, beginning at a random one. Where there are
 * many, most have runs, and checking all of them each time would delay all other writes.
 */
export const groupsChecked = 20;

/** A failed attempt, to be written. */
export interface Failure {
  /** The fingerprint, which failures that are alike share. */
  readonly group: string;
  /** The error's class or code. */
  readonly cause: string;
  /** Where in the user's files the error was thrown. */
  readonly location: string | undefined;
  readonly reason: string;
  /** The reason without its variable parts. */
  readonly message: string;
  /** In milliseconds. */
  readonly duration: number;
}

/** A failed attempt, as stored. */
export interface KeptFailure extends Omit<Failure, 'group' | 'message'> {
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: 'retry' | 'dead';
}

/** Failures that are alike, and the runs of which they are the latest failure. Times in milliseconds since 1970. */
export interface FailureGroup {
  readonly id: string;
  readonly handler: string;
  readonly cause: string;
  readonly location: string | undefined;
  readonly message: string;
  /** How many of the runs are dead letters, counted up to 10,000. */
  readonly dead: number;
  /** How many of the runs are to be tried again, counted up to 10,000. */
  readonly retrying: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** The trace id of the event whose run failed last; undefined if the event has just been removed. */
  readonly traceId: string | undefined;
  /** Undefined if the group isn't muted. */
  readonly mutedAt: number | undefined;
}

/** What an alert says about a group. */
export interface NamedGroup extends Pick<FailureGroup, 'id' | 'handler' | 'cause'> {
  readonly isMuted: boolean;
}

export interface FailureQuery {
  readonly handler: string | undefined;
  readonly limit: number;
}

export interface FailureStore {
  /** The groups that have runs which are not done, latest first. */
  groups(query: FailureQuery): Promise<readonly FailureGroup[]>;
  /** The groups with these ids; unknown ids are left out. */
  named(ids: readonly string[]): Promise<readonly NamedGroup[]>;
  /** Resolves to false if the group was muted already, or doesn't exist. */
  mute(id: string, now: number): Promise<boolean>;
  /** Resolves to whether it was muted. */
  unmute(id: string): Promise<boolean>;
}
