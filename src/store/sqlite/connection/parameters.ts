/**
 * Parameters for statements that run again and again. If a statement joins, orders or chooses between indexes, SQLite
 * plans with the value of a bare parameter, and plans anew whenever another value is bound, which takes ten times as
 * long as running it. With a cast, SQLite doesn't look at the value.
 */

/** SQL: a parameter that is an integer or null. */
export const asInteger = (parameter: string): string => `cast(${parameter} as integer)`;

/** SQL: a parameter that is text or null. */
export const asText = (parameter: string): string => `cast(${parameter} as text)`;

/** SQL: a parameter that is bytes or null. */
export const asBytes = (parameter: string): string => `cast(${parameter} as blob)`;
