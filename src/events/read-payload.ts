import type { z } from 'zod';
import type { Issue } from './model.ts';
import { copyOf, isRecord } from './decoding.ts';
import { assignParsed, documentedPart } from './documented-part.ts';
import { idUnder } from './ids.ts';
import { type KnownEventName, isKnownEventName } from './names.ts';
import { type PlainShape, plainShapeOf, readPlainFields, unusual } from './plain-reader.ts';
import { envelopeFieldNames, payloadSchemas } from './schemas.ts';

type Fields = Record<string, unknown>;

/** A payload, and where it is not what the event's name promises. */
export interface ReadPayload {
  readonly payload: Fields;
  readonly issues: readonly Issue[];
}

/** The fields of the payload, which a flat event has at the top level. Always a copy: the body stays as sent. */
export function unwrapPayload(fields: Readonly<Fields>): Fields {
  const wrapped = fields['payload'];
  return isRecord(wrapped) ? copyOf(wrapped) : copyWithoutEnvelope(fields);
}

/**
 * The documented ids of a payload, with the other names that the platform uses for them. `_id` is read as the call's id
 * only in a known event: an unknown event may use it for anything.
 */
const idAliases = { call_id: ['callId'], agent_id: ['ai_agent_id'] } as const;
export const idAliasesOfKnown = { ...idAliases, call_id: ['callId', '_id'] } as const;
const idNames = allNames(idAliases);
const idNamesOfKnown = allNames(idAliasesOfKnown);

/** Each documented name, and all names in the order in which they are tried. */
function allNames(aliases: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(aliases).map(([name, others]) => [name, [name, ...others]] as const);
}

/**
 * Reads the ids under their documented names, then compares a known event with what its name promises. Only the
 * documented part of a large body is copied: copying all would take too long for one turn of the event loop.
 */
export function readPayload(eventName: string, fields: Readonly<Fields>, isLarge: boolean): ReadPayload {
  const payload = unwrapPayload(fields);
  const isKnown = isKnownEventName(eventName);
  for (const [name, names] of isKnown ? idNamesOfKnown : idNames) {
    const id = idUnder(payload, names);
    if (id !== undefined) payload[name] = id;
  }
  if (!isKnown) return { payload, issues: [] };
  const { payload: wrapped = null } = fields;
  // A missing or null payload means a flat event; any other payload must be an object.
  const isReadable = wrapped === null || isRecord(wrapped);
  const issues = isReadable ? [] : [{ path: 'payload', expected: 'object' }];
  const shape = plainShapes.get(eventName) ?? makePlainShape(eventName);
  const plain = isLarge ? unusual : readPlainFields(shape, payload);
  if (plain !== unusual) return { payload: plain as Fields, issues };
  return compareWithSchema(eventName, payload, issues);
}

/** Made when the first event of a name comes. */
const plainShapes = new Map<KnownEventName, PlainShape>();

function makePlainShape(eventName: KnownEventName): PlainShape {
  const made = plainShapeOf(payloadSchemas[eventName]);
  plainShapes.set(eventName, made);
  return made;
}

/** Reads a payload with the schema's own parser, which converts values and finds what is wrong. */
function compareWithSchema(
  eventName: KnownEventName,
  payload: Fields,
  issues: readonly Issue[],
): ReadPayload {
  const schema = payloadSchemas[eventName];
  const parsed = schema.safeParse(documentedPart(schema, payload));
  if (parsed.success) return { payload: assignParsed(payload, parsed.data), issues };
  return { payload, issues: [...issues, ...parsed.error.issues.slice(0, maxIssues).map(toIssue)] };
}

const maxIssues = 100;

function copyWithoutEnvelope(fields: Readonly<Fields>): Fields {
  const copy: Fields = {};
  for (const name of Object.keys(fields)) {
    if (name !== '__proto__' && !envelopeFieldNames.includes(name)) copy[name] = fields[name];
  }
  return copy;
}

/** The path and what was expected there, without the value found: issues are logged. */
function toIssue(issue: z.core.$ZodIssue): Issue {
  return {
    path: ['payload', ...issue.path].join('.'),
    expected: issue.code === 'invalid_type' ? issue.expected : issue.message,
  };
}
