import { controls } from '../terminal.ts';

/** The outcome of a check. Only `wrong` makes the command fail. */
type FindingStatus = 'ok' | 'warning' | 'wrong' | 'skipped';

export interface Finding {
  readonly check: string;
  readonly status: FindingStatus;
  /** What was found and, unless it is ok, what to do. */
  readonly message: string;
}

const runsOfControls = new RegExp(`${controls.source}+`, controls.flags);

/**
 * A finding. Its message is reduced to one line without control characters: it may quote a subscription's name or a
 * server's answer, which must not forge findings or control the terminal.
 */
export function finding(check: string, status: FindingStatus, message: string): Finding {
  return { check, status, message: message.replaceAll(runsOfControls, ' ') };
}

export const ok = (check: string, message: string): Finding => finding(check, 'ok', message);
export const warning = (check: string, message: string): Finding => finding(check, 'warning', message);
export const wrong = (check: string, message: string): Finding => finding(check, 'wrong', message);
export const skipped = (check: string, message: string): Finding => finding(check, 'skipped', message);

export function linesOf(findings: readonly Finding[]): readonly string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.map(
    ({ check, status, message }) => `${status.padEnd('skipped'.length)}  ${check.padEnd(width)}  ${message}`,
  );
}

export function jsonOf(findings: readonly Finding[]): string {
  return JSON.stringify({ ok: isWell(findings), findings });
}

/** Whether nothing is wrong; warnings are allowed. */
export function isWell(findings: readonly Finding[]): boolean {
  return findings.every(({ status }) => status !== 'wrong');
}
