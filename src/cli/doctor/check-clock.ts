import { type Finding, finding } from './finding.ts';
import type { Probe } from './probe.ts';

const check = 'clock';

/** The receiver's default tolerance, in milliseconds: with a larger difference, it refuses deliveries. */
const tolerance = 300_000;
/** A difference that neither the network nor the whole seconds of a Date header can explain, in milliseconds. */
const suspicious = 30_000;

/**
 * Whether this machine's clock agrees with another one: deliveries with a signed time too far from ours are refused.
 */
export function checkClock(probe: Probe | undefined, whose: string): Finding {
  if (probe === undefined) return finding(check, 'skipped', 'compared with nobody: set --platform or --url');
  const ahead = probe.kind === 'answered' ? probe.ahead : undefined;
  if (ahead === undefined) return finding(check, 'skipped', `${whose} did not tell the time`);
  const seconds = Math.round(Math.abs(ahead) / 1_000);
  const told = `${seconds} s ${ahead < 0 ? 'behind' : 'ahead of'} ${whose}`;
  if (Math.abs(ahead) > tolerance) {
    return finding(
      check,
      'wrong',
      `${told}, so that deliveries are refused as too old or too new: set the clock (NTP).`,
    );
  }
  return Math.abs(ahead) > suspicious
    ? finding(check, 'warning', `${told}: let the clock be kept by NTP.`)
    : finding(check, 'ok', `agrees with ${whose}`);
}
