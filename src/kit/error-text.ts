/** Texts about something that was thrown, whatever it is: never its stack. */

/** The message, without a stack. Never throws, whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'something that cannot be put into words';
  }
}

/**
 * Why `fetch` failed. Its error says only that it failed; the error's cause says why. If several addresses have failed,
 * the cause has no message, but a code.
 */
export function fetchCauseOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause === undefined) return messageOf(error);
  const { code } = cause as { readonly code?: string };
  const message = messageOf(cause);
  return message === '' ? (code ?? 'no connection') : message;
}

/**
 * The name of an error's class, never its message, which may hold anything, such as what a caller has said. A name that
 * isn't one word may hold anything too: then this returns `Error`.
 */
export function classOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown;
  const name: unknown = thrown.name;
  return typeof name === 'string' && /^[A-Za-z]\w{0,63}$/.test(name) ? name : 'Error';
}
