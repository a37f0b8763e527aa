/** The part of the store that keeps every failed attempt, and groups those that are alike. */

/** How many failures are kept of a run: the latest. */
export const maxFailures = 20;

/** How many groups are kept. Beyond that, those go of which no run is left. */
export const maxGroups = 1_000;
/**
 * At how many of those it is looked for each new group, from a random one on: where there are many, most have runs, and to look at
 * all of them for each new one would keep everything else from being written.
 */
export const groupsLookedAt = 20;

/** A failed attempt, as it is settled. */
export interface Failure {
  /** The fingerprint of failures that are alike. */
  readonly group: string;
  /** The error's class or code. */
  readonly cause: string;
  /** Where in the user's own files it was thrown. */
  readonly place: string | undefined;
  readonly reason: string;
  /** The reason without its variable parts. */
  readonly message: string;
  /** In milliseconds. */
  readonly duration: number;
}

/** A failed attempt, as it is kept. */
export interface KeptFailure extends Omit<Failure, 'group' | 'message'> {
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: 'retry' | 'dead';
}

/** Failures that are alike, and the runs that are not done since. Times in milliseconds since 1970. */
export interface FailureGroup {
  readonly id: string;
  readonly handler: string;
  readonly cause: string;
  readonly place: string | undefined;
  readonly message: string;
  /** How many runs are dead letters by it, counted up to 10,000. */
  readonly dead: number;
  /** How many runs are tried again after it, counted up to 10,000. */
  readonly retrying: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** Of the event whose run has failed so last; undefined if it has just been removed. */
  readonly traceId: string | undefined;
  /** Since when nobody wants to be told of it; undefined if it isn't muted. */
  readonly mutedAt: number | undefined;
}

/** What is said about a group in an alert. */
export interface NamedGroup extends Pick<FailureGroup, 'id' | 'handler' | 'cause'> {
  readonly isMuted: boolean;
}

/** Which groups. */
export interface FailureQuery {
  readonly handler: string | undefined;
  readonly limit: number;
}

export interface FailureStore {
  /** The groups of runs that are not done, the latest first. */
  groups(query: FailureQuery): Promise<readonly FailureGroup[]>;
  /** Of those ids there are. */
  named(ids: readonly string[]): Promise<readonly NamedGroup[]>;
  /** Resolves to whether it was not muted before; false if there is no such group. */
  mute(id: string, now: number): Promise<boolean>;
  /** Resolves to whether it was muted. */
  unmute(id: string): Promise<boolean>;
}
