/** The steps before a connection: looking the name up, and connecting. */
const stepsBefore = new Set(['getaddrinfo', 'connect']);

/**
 * Whether `fetch` failed before there was a connection, so that nothing was sent: nobody listens, a name is not found,
 * a network can't be reached. In doubt false, since a request may only be repeated safely if it was not sent.
 */
export function wasNeverSent(error: unknown): boolean {
  return isBefore(error instanceof Error ? error.cause : undefined);
}

/** If a name has several addresses, the cause is one error for all of them, with theirs inside. */
function isBefore(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isBefore);
  if (!(cause instanceof Error)) return false;
  const { syscall, code } = cause as NodeJS.ErrnoException;
  return stepsBefore.has(syscall ?? '') || code === 'UND_ERR_CONNECT_TIMEOUT';
}
