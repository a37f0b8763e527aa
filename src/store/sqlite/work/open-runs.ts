/**
 * How open runs are found, that is, runs still to be run or being run. An index holds only these, and SQLite uses it
 * only where a statement has the index's condition word for word; `state = 'due'` alone doesn't lead to it.
 */

/** SQL: the run is open. */
export const isOpen = "state in ('due', 'claimed', 'blocked')";

/**
 * SQL: the event's sequence for each open run. Each state has an index that answers this by itself. The index of all
 * open runs doesn't have the state, so each of a hundred thousand runs would have to be looked up for it.
 */
export const openSequences = `select sequence from runs indexed by runs_due where state = 'due'
  union all select sequence from runs indexed by runs_claimed where claimed_by is not null
  union all select sequence from runs indexed by runs_blocked where state = 'blocked'`;

/** SQL: the run waits for its time, or for one that goes before it, and no attempt has begun. */
export const isUnbegun = "state = 'due' and attempts = 0";

/**
 * SQL, after the table's name: use the index of open runs by call, handler and sequence. SQLite doesn't know how many
 * rows there are, and might go through every due run of a handler, or every run there ever was, to find those of one
 * call. A statement that can't use the index can't be prepared.
 */
export const byCall = 'indexed by runs_open_by_call';

/** The same for the index of unbegun runs, by call and handler. */
export const byCallUnbegun = 'indexed by runs_unbegun_by_call';
