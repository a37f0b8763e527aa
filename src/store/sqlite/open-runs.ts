/**
 * How open runs are found: those that are still to be run, or are being run. An index holds only them, and SQLite uses it
 * only where its condition stands word for word; `state = 'due'` alone doesn't lead to it.
 */

/** SQL: the run is open. */
export const isOpen = "state in ('due', 'claimed', 'blocked')";

/** SQL: the run waits for its time, or for one that goes before it, and no attempt has begun. */
export const isUnbegun = "state = 'due' and attempts = 0";

/**
 * SQL, after the table's name: by the index of open runs, by call, handler and sequence. SQLite, which doesn't know how
 * many rows there are, might go through every due run of a handler, or every run there ever was, for those of one call.
 * A statement that can't use the index can't be prepared.
 */
export const byCall = 'indexed by runs_open_by_call';

/** The same for the index of unbegun runs, by call, handler and the time when they are due. */
export const byCallAndTime = 'indexed by runs_unbegun_by_call';
