/**
 * Parameters for statements that are run again and again. If a statement joins, orders or chooses between indexes,
 * SQLite looks at the value of a bare parameter while it plans, and plans the statement again whenever another value
 * is bound. That takes ten times as long as running it. SQLite doesn't look at the value of a parameter that is cast.
 */

/** SQL: a parameter that is a whole number, or null. */
export const asInteger = (parameter: string): string => `cast(${parameter} as integer)`;

/** SQL: a parameter that is text, or null. */
export const asText = (parameter: string): string => `cast(${parameter} as text)`;

/** SQL: a parameter that is bytes, or null. */
export const asBytes = (parameter: string): string => `cast(${parameter} as blob)`;
