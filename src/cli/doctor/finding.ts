/** How a check came out. Only `wrong` makes the command fail. */
export type FindingStatus = 'ok' | 'warning' | 'wrong' | 'skipped';

/** What one check found, in one line. */
export interface Finding {
  /** What was looked at. */
  readonly check: string;
  readonly status: FindingStatus;
  /** What was found, and unless it is well, what to do. */
  readonly message: string;
}

/**
 * A finding. Its message stays one line, whatever is quoted in it: the name of a subscription, or what a server says, must not
 * write findings of its own, nor give orders to a terminal.
 */
export function finding(check: string, status: FindingStatus, message: string): Finding {
  return { check, status, message: message.replaceAll(/[\p{Control}\p{Zl}\p{Zp}]+/gu, ' ') };
}
