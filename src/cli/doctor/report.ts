import type { Finding } from './finding.ts';

/** The findings as lines for a person: the status, what was checked, and the message. */
export function linesOf(findings: readonly Finding[]): readonly string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.map(
    ({ check, status, message }) => `${status.padEnd('skipped'.length)}  ${check.padEnd(width)}  ${message}`,
  );
}

/** The findings as JSON for a program, in one line. */
export function jsonOf(findings: readonly Finding[]): string {
  return JSON.stringify({ ok: isWell(findings), findings });
}

/** Whether nothing is wrong. A warning does not count as wrong. */
export function isWell(findings: readonly Finding[]): boolean {
  return findings.every(({ status }) => status !== 'wrong');
}
