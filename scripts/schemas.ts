/**
 * Writes `schemas/*.schema.json`: the JSON Schema (2020-12) of the envelope and of each known event, as it is sent, and
 * of a sandbox's seed. Writes `docs/events.md` from the same schemas, and `schemas/openapi.json`, the operators' API.
 *
 *   npm run schemas          writes the files
 *   npm run schemas:check    exits 1 and names the files that differ from what the sources give
 */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { eventNames } from '../src/events/names.ts';
import { idAliasesOfKnown } from '../src/events/payload.ts';
import { callTransferredPayload, envelope, envelopeOf } from '../src/events/schemas.ts';
import { openApiDocument } from '../src/operate/api/openapi.ts';
import { seedSchema } from '../src/sandbox/seed.ts';
import { eventsDocument } from './events-document.ts';
import { runGenerator } from './generated.ts';
import type { Files } from './generated.ts';

/** The schema of each file, by its name. The documented sample of a transfer is flat; wrapped is accepted as well. */
const published = {
  envelope: { schema: envelope, title: 'The envelope of any event' },
  'call-started': { schema: envelopeOf(eventNames.callStarted), title: 'A call started' },
  'call-ended': { schema: envelopeOf(eventNames.callEnded), title: 'A call ended' },
  'call-transferred': { schema: callTransferredPayload, title: 'A call was transferred (flat)' },
  'call-transferred-wrapped': {
    schema: envelopeOf(eventNames.callTransferred),
    title: 'A call was transferred (in the envelope)',
  },
  'pca-completed': { schema: envelopeOf(eventNames.pcaCompleted), title: 'Post-call analysis is ready' },
  'sandbox-seed': { schema: seedSchema, title: 'What a new sandbox has in it' },
} as const;

/** The text of every schema file, by file name. */
export function schemaFiles(): Files {
  return new Map(
    Object.entries(published).map(([id, { schema, title }]) => [
      `${id}.schema.json`,
      `${JSON.stringify(jsonSchema(id, title, schema), null, 2)}\n`,
    ]),
  );
}

/** Whether a file of the folder is one of the schemas. */
export const isSchemaFile = (name: string): boolean => name.endsWith('.schema.json');

/** Each schema gets its own registry. With a common one, a payload would become a reference to another file. */
function jsonSchema(id: string, title: string, schema: z.ZodType): unknown {
  const registry = z.registry<{ id: string }>().add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    uri: () => `urn:ringback:schema:${id}`,
    // Formats are left out where there is a pattern, which says more: a strict validator refuses a format it doesn't
    // know.
    override: ({ jsonSchema: node }) => {
      if (node.pattern !== undefined) delete node.format;
      if (isPayload(node)) addOtherNames(node);
    },
  });
  const { $schema, $id, ...rest } = { ...schemas[id] };
  return flattenTypes({ $schema, $id, title, ...rest });
}

/** Only payloads have an id of the call. A schema with a description is visited twice. */
function isPayload({ properties = {}, anyOf }: z.core.JSONSchema.BaseSchema): boolean {
  return 'call_id' in properties && anyOf === undefined;
}

/** Takes a required id under any of its names, as events are read. The other names of an optional one are free. */
function addOtherNames(node: z.core.JSONSchema.BaseSchema): void {
  const { properties = {}, required = [] } = node;
  for (const [name, others] of Object.entries<readonly string[]>(idAliasesOfKnown)) {
    const property = properties[name];
    if (typeof property !== 'object') throw new Error(`A payload has no field ${name}`);
    const { description = '', ...value } = property;
    if (!required.includes(name)) continue;
    // Whatever is under one of the names doesn't matter when there is an id under another.
    node.required = required.filter((field) => field !== name);
    if (node.required.length === 0) delete node.required;
    properties[name] = { description };
    node.anyOf = [name, ...others].map((field) => ({ properties: { [field]: value }, required: [field] }));
  }
}

type Json = Readonly<Record<string, unknown>>;

/** Writes "a string or a number" as one list of types, which people and code generators read more easily. */
function flattenTypes(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(flattenTypes);
  if (!isObject(node)) return node;
  const flat: Json = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, flattenTypes(value)]),
  );
  const { anyOf, ...rest } = flat;
  if (!Array.isArray(anyOf) || !anyOf.every(isSimple)) return flat;
  const merged: Json = Object.assign({}, ...anyOf);
  return { ...rest, ...merged, type: [...new Set(anyOf.flatMap((option) => option['type']))] };
}

/** Keywords that apply to one type only, so that options of different types can be merged. */
const simpleKeywords = new Set(['type', 'pattern', 'examples']);

function isSimple(option: unknown): option is Json {
  return isObject(option) && 'type' in option && Object.keys(option).every((key) => simpleKeywords.has(key));
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

if (import.meta.main) {
  const command = 'npm run schemas';
  runGenerator({
    folder: fileURLToPath(new URL('../schemas', import.meta.url)),
    files: schemaFiles(),
    command,
    owns: isSchemaFile,
  });
  const description = 'openapi.json';
  runGenerator({
    folder: fileURLToPath(new URL('../schemas', import.meta.url)),
    files: new Map([[description, `${JSON.stringify(openApiDocument(), null, 2)}\n`]]),
    command,
    owns: (name) => name === description,
  });
  const document = 'events.md';
  runGenerator({
    folder: fileURLToPath(new URL('../docs', import.meta.url)),
    files: new Map([[document, eventsDocument()]]),
    command,
    owns: (name) => name === document,
  });
}
