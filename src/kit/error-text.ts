/** What can be said of something that was thrown, whatever it is: neither a stack nor, where it says so, a message. */

/** The message, without a stack. What is thrown may be anything: this never throws itself. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'something that cannot be put into words';
  }
}

/** Why `fetch` failed: it says only that it did, and the cause why. Of several addresses' errors, the code says most. */
export function fetchCauseOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause === undefined) return messageOf(error);
  const { code } = cause as { readonly code?: string };
  const message = messageOf(cause);
  return message === '' ? (code ?? 'no connection') : message;
}

/**
 * The name of an error's class, never its message: that may hold anything, such as what a caller has said. So may a
 * name that isn't one word.
 */
export function classOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown;
  const name: unknown = thrown.name;
  return typeof name === 'string' && /^[A-Za-z]\w{0,63}$/.test(name) ? name : 'Error';
}
