/**
 * The JSON Schema of a known event's bodies. It accepts what a handler for the event's name gets, and refuses what goes
 * to the fallback instead. It is derived from what decodes events: the schemas of the payloads and of the envelope, the
 * other names of ids, and what counts as an id.
 */
import { z } from 'zod';
import { type KnownEventName, maxId } from '../src/events/names.ts';
import { idAliasesOfKnown } from '../src/events/read-event.ts';
import { envelopeFieldNames, envelopeOf, payloadSchemas } from '../src/events/schemas.ts';
import { type Json, jsonSchemaOf } from './json-schema.ts';

/** The bodies of an event: in the envelope, or flat, which is a body without a payload. */
export function bodySchemaOf(name: KnownEventName): Json {
  const { properties, required, ...enveloped } = envelopedSchemaOf(name);
  const payload = { ...properties.payload, type: ['object', 'null'] };
  const isEnveloped = { properties: { payload: { type: 'object' } }, required };
  const { type: _, additionalProperties: __, ...flat } = payloadSchemaOf(name, envelopeFieldNames);
  return {
    ...enveloped,
    description: `${introductionOf(name)} ${whenFlat}`,
    properties: { ...properties, payload },
    anyOf: [isEnveloped, flat],
  };
}

const whenFlat = "If there is no payload, or null, the payload's fields are at the top level.";

/** The bodies of an event that are in the envelope. */
export function envelopedSchemaOf(name: KnownEventName) {
  const { payload, ...fields } = envelopeFieldsOf(name);
  return {
    description: introductionOf(name),
    type: 'object',
    properties: { ...fields, payload: { ...payload, ...payloadSchemaOf(name) } },
    required: ['payload'],
    additionalProperties: {},
  } satisfies Json;
}

function introductionOf(name: KnownEventName): string {
  return (
    `The bodies of ${name} that a handler for it gets. The header X-Webhook-Event may name the event instead of the ` +
    'body: so a body without a name is valid here, and only the header tells which schema is the right one.'
  );
}

/** The fields of the envelope. None of them keeps an event from its handler, except the name of another event. */
function envelopeFieldsOf(name: KnownEventName): Readonly<Record<string, Json>> {
  const { properties } = objectOf(jsonSchemaOf(envelopeOf(name)));
  const fields = Object.entries(properties).map(([field, { type, description = '' }]) => {
    if (field === 'payload') return [field, { description }];
    if (field !== 'eventName') return [field, { description: `${description} ${otherwiseMissing(type)}` }];
    const anyOf = [{ const: name }, { not: readableId }];
    return [field, { description: `${description} ${inHeader}`, anyOf }];
  });
  return Object.fromEntries(fields);
}

const inHeader = 'If it is missing or is no name, the header names the event.';

function otherwiseMissing(type: unknown): string {
  const types = [type].flat().filter((each) => each !== 'null');
  return `A ${types.join(' or a ')}; anything else counts as missing.`;
}

/** What is read as an id or a name. (A character beyond 16 bits counts as two there, and as one here.) */
const readableId = jsonSchemaOf(z.union([z.string().regex(/\S/).max(maxId), z.number()]));

/** The schema of a payload, without the fields that a flat event can't have beside its envelope's. */
function payloadSchemaOf(name: KnownEventName, without: readonly string[] = []): Json {
  const { properties, required = [], ...rest } = objectOf(jsonSchemaOf(payloadSchemas[name]));
  const fields = new Map(Object.entries(properties).filter(([field]) => !without.includes(field)));
  const ids = Object.entries<readonly string[]>(idAliasesOfKnown).map(([id, others]) => {
    const { description = '', ...value } = fields.get(id) ?? {};
    // Any value is accepted under one of the names if another has an id.
    fields.set(id, { description });
    const documented = { properties: { [id]: value }, ...(required.includes(id) && { required: [id] }) };
    const otherNames = others.map((other) => ({ properties: { [other]: readableId }, required: [other] }));
    return { anyOf: [documented, ...otherNames] };
  });
  const needed = required.filter((field) => !(field in idAliasesOfKnown));
  return {
    ...rest,
    properties: Object.fromEntries(fields),
    ...(needed.length > 0 && { required: needed }),
    allOf: ids,
  };
}

interface ObjectSchema extends Json {
  readonly properties: Readonly<Record<string, Json & { readonly description?: string }>>;
  readonly required?: readonly string[];
}

function objectOf(schema: Json): ObjectSchema {
  return schema as ObjectSchema;
}
