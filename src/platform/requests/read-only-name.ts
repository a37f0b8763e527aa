/** Names of fields in answers that no request sets: times, ids and counts. */
export const readOnlyName = /(^|_)(at|id|by|count)$/;
