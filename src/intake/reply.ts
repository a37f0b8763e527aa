import { type RefusalCode, refusals } from '../errors/refusals.ts';
import type { Reply } from '../events/model.ts';

const json = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' } as const;

/** Success is always 200: the platform doesn't document which other statuses count as delivered. */
export function replyRecorded(status: 'accepted' | 'duplicate' | 'quarantined', traceId: string): Reply {
  return { status: 200, headers: json, body: JSON.stringify({ status, traceId }) };
}

/** The sender gets the code and never the reason: a forger could learn from that. */
export function replyRefused(code: RefusalCode): Reply {
  const { status, headers } = refusals[code];
  return { status, headers: { ...json, ...headers }, body: JSON.stringify({ error: code }) };
}
