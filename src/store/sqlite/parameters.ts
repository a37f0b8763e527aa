/**
 * Parameters for statements that are run again and again. SQLite looks at the value of a bare one while it plans, where
 * a statement joins, orders or chooses between indexes, and so plans it anew whenever another value is bound: that takes
 * ten times as long as running it. A value that is cast it leaves alone.
 */

/** SQL: a parameter that is a whole number, or null. */
export const asInteger = (parameter: string): string => `cast(${parameter} as integer)`;

/** SQL: a parameter that is text, or null. */
export const asText = (parameter: string): string => `cast(${parameter} as text)`;

/** SQL: a parameter that is bytes, or null. */
export const asBytes = (parameter: string): string => `cast(${parameter} as blob)`;
