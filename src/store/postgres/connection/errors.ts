/** Whether the database has refused what it was given, and would refuse it again: what is wrong is in the values. */
export function isRefused(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  // Classes 22 and 23: data that is out of range or malformed, and what breaks a constraint.
  return typeof code === 'string' && /^2[23]/.test(code);
}
