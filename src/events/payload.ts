import type { z } from 'zod';
import type { Issue } from '../model.ts';
import { isRecord } from './decoding.ts';
import { firstId } from './ids.ts';
import { isKnownEventName } from './names.ts';
import { envelopeFieldNames, payloadSchemas } from './schemas.ts';

type Fields = Record<string, unknown>;

/** A payload in its one shape, and what it misses of what the event's name promises. */
export interface ReadPayload {
  readonly payload: Fields;
  readonly issues: readonly Issue[];
}

/** The fields of the payload, which a flat event has at the top level. Always a copy: the body stays as sent. */
export function unwrapPayload(body: Readonly<Fields>): Fields {
  const wrapped = body['payload'];
  return isRecord(wrapped) ? copyWithout(wrapped, []) : copyWithout(body, envelopeFieldNames);
}

/**
 * The documented ids of a payload, with the other names that the platform has for the same thing. `_id` means the
 * call only where the event is known to be about one: an unknown event may use it for anything.
 */
export const idAliases = { call_id: ['callId'], agent_id: ['ai_agent_id'] } as const;
export const idAliasesOfKnown = { ...idAliases, call_id: ['callId', '_id'] } as const;

/** Reads the ids under their documented names, then compares a known event with what its name promises. */
export function readPayload(eventName: string, body: Readonly<Fields>): ReadPayload {
  const fields = unwrapPayload(body);
  if (!isKnownEventName(eventName)) return { payload: withDocumentedIds(fields, idAliases), issues: [] };
  const payload = withDocumentedIds(fields, idAliasesOfKnown);
  const issues = isPayloadReadable(body['payload']) ? [] : [{ path: 'payload', expected: 'object' }];
  const lists = longListsOf(payload);
  const parsed = payloadSchemas[eventName].safeParse(
    lists.length === 0 ? payload : shortened(payload, lists),
  );
  if (parsed.success) return { payload: Object.assign(parsed.data, Object.fromEntries(lists)), issues };
  return { payload, issues: [...issues, ...parsed.error.issues.slice(0, mostIssues).map(toIssue)] };
}

/** How much of a list is compared with its schema: what is wrong with one item is wrong with millions. */
const mostItems = 1_000;
const mostIssues = 100;

/** Of a list with millions of wrong items every one would be an issue: seconds, and gigabytes, for one delivery. */
function shortened(payload: Fields, lists: readonly [string, unknown[]][]): Fields {
  return { ...payload, ...Object.fromEntries(lists.map(([name, list]) => [name, list.slice(0, mostItems)])) };
}

function longListsOf(payload: Fields): [string, unknown[]][] {
  return Object.entries(payload).filter((entry): entry is [string, unknown[]] => isLong(entry[1]));
}

function isLong(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > mostItems;
}

/** Missing or null means flat; anything else than an object is a payload that can't be read. */
function isPayloadReadable(payload: unknown): boolean {
  return payload === undefined || payload === null || isRecord(payload);
}

function withDocumentedIds(payload: Fields, aliasesOf: Readonly<Record<string, readonly string[]>>): Fields {
  const ids: Fields = {};
  for (const [name, aliases] of Object.entries(aliasesOf)) {
    const id = firstId(payload[name], ...aliases.map((alias) => payload[alias]));
    if (id !== undefined) ids[name] = id;
  }
  return { ...payload, ...ids };
}

/**
 * A copy of an object without some fields, and never with `__proto__`: JSON may hold it as an ordinary field, and
 * whoever copies it on by assignment would change an object's prototype.
 */
function copyWithout(fields: Readonly<Fields>, left: readonly string[]): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => name !== '__proto__' && !left.includes(name)),
  );
}

/** The path and what was expected there. What was found is left out, because issues are logged. */
function toIssue(issue: z.core.$ZodIssue): Issue {
  return {
    path: ['payload', ...issue.path].join('.'),
    expected: issue.code === 'invalid_type' ? issue.expected : issue.message,
  };
}
