/** Whether what was to be written was refused, and would be again: what is wrong is in the values, and nothing was written. */
export function isRefused(error: unknown): boolean {
  // A value that isn't even of its type never reaches the database.
  if (error instanceof TypeError) return true;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  // Classes 22 and 23: data that is out of range or malformed, and what breaks a constraint.
  return typeof code === 'string' && /^2[23]/.test(code);
}
