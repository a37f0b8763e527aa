/**
 * How the kept headers of an event are written. Nearly every event has the same few headers, and two of their values
 * are in the event's own row as well: written out, they would take as much room as all else that is kept beside the
 * body.
 */
import type { Headers } from '../../../events/model.ts';

/** Letters for names that nearly every delivery has; a header's own name is never one letter. */
const letters = new Map([
  ['content-type', 'c'],
  ['user-agent', 'u'],
  ['x-webhook-event', 'e'],
  ['x-webhook-signature', 's'],
  ['x-webhook-timestamp', 't'],
  ['x-webhook-traceid', 'i'],
  ['webhook-id', 'd'],
  ['webhook-signature', 'v'],
  ['webhook-timestamp', 'm'],
]);
const names = new Map([...letters].map(([name, letter]) => [letter, name]));

/** What the event's row says already. */
interface Told {
  readonly traceId: string;
  readonly eventName: string;
}

/** Stands for a value that is the event's trace id, or its name. No header's value is a number. */
const asTraceId = 0;
const asEventName = 1;

/** The headers as JSON. */
export function writeHeaders(headers: Headers, { traceId, eventName }: Told): string {
  const written: Record<string, unknown> = {};
  for (const name in headers) {
    const value = headers[name];
    written[letters.get(name) ?? name] =
      value === traceId ? asTraceId : value === eventName ? asEventName : value;
  }
  return JSON.stringify(written);
}

/** The opposite of `writeHeaders`. */
export function readHeaders(text: string, { traceId, eventName }: Told): Headers {
  const headers: Record<string, Headers[string]> = {};
  for (const [key, value] of Object.entries(JSON.parse(text) as Record<string, unknown>)) {
    const told = value === asTraceId ? traceId : value === asEventName ? eventName : value;
    headers[names.get(key) ?? key] = told as Headers[string];
  }
  return headers;
}
