/** What an answer leaves out: what callers said, and what reveals it. */
import type { CallRecord } from '../../calls/timeline.ts';
import type { Audit } from '../audit.ts';
import type { Asked } from './route.ts';

/** Leaves the body, its bytes and the headers out unless the request asks for them, which goes into the audit list. */
export async function shown(
  whole: { readonly body: unknown; readonly headers: unknown; readonly raw?: Uint8Array } | undefined,
  { query, by }: Asked,
  audit: Audit,
  what: string,
): Promise<unknown> {
  if (whole !== undefined && query['body'] === true) await audit.recordLook(what, by);
  if (whole === undefined) return undefined;
  const { body, headers, raw, ...rest } = whole;
  if (query['body'] !== true) return rest;
  return { ...rest, body, headers, ...(raw && { raw: base64Of(raw) }) };
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/**
 * A call as a request may see it. Why it was transferred, how its caller felt, and why its analysis ended as it did
 * follow from what was said, so they need the permission for bodies.
 */
export function shownCall(call: CallRecord, { actions }: Pick<Asked, 'actions'>): CallRecord {
  if (actions.includes('bodies')) return call;
  const { transfer, analysis } = call;
  return {
    ...call,
    transfer: transfer && { ...transfer, reason: undefined, sentiment: undefined },
    analysis: analysis && { ...analysis, reason: undefined },
  };
}
