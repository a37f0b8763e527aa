import { type Finding, finding } from './finding.ts';
import type { Probe } from './probe.ts';

const check = 'clock';

/** Beyond this the receiver's own tolerance refuses deliveries, in milliseconds. */
const tolerance = 300_000;
/** More than any network and any whole second make, in milliseconds. */
const suspicious = 30_000;

/** Whether this machine's clock agrees with another's: a signed time that is too far from ours is refused. */
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
