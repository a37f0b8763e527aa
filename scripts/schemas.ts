/**
 * Writes `schemas/*.schema.json`: the JSON Schema (2020-12) of the envelope, of the bodies of each known event, and of
 * a sandbox's seed. Writes `docs/events.md` from the same schemas, and `schemas/openapi.json`, the operators' API.
 *
 *   npm run schemas          writes the files
 *   npm run schemas:check    exits 1 and names the files that differ from what the sources give
 */
import { fileURLToPath } from 'node:url';
import { eventNames } from '../src/events/names.ts';
import { envelope } from '../src/events/schemas.ts';
import { openApiDocument } from '../src/operate/api/openapi.ts';
import { seedSchema } from '../src/sandbox/seed.ts';
import { bodySchemaOf, envelopedSchemaOf } from './body-schemas.ts';
import { eventsDocument } from './events-document.ts';
import { runGenerator } from './generated.ts';
import type { Files } from './generated.ts';
import { type Json, jsonSchemaOf } from './json-schema.ts';

const { callStarted, callEnded, callTransferred, pcaCompleted } = eventNames;

/** The schema of each file, by its name. */
const published: Readonly<Record<string, { readonly schema: () => Json; readonly title: string }>> = {
  envelope: { schema: () => jsonSchemaOf(envelope), title: 'The envelope of any event, as documented' },
  'call-started': { schema: () => bodySchemaOf(callStarted), title: 'A call started' },
  'call-ended': { schema: () => bodySchemaOf(callEnded), title: 'A call ended' },
  'call-transferred': { schema: () => bodySchemaOf(callTransferred), title: 'A call was transferred' },
  'call-transferred-wrapped': {
    schema: () => envelopedSchemaOf(callTransferred),
    title: 'A call was transferred (in the envelope)',
  },
  'pca-completed': { schema: () => bodySchemaOf(pcaCompleted), title: 'Post-call analysis is ready' },
  'sandbox-seed': { schema: () => jsonSchemaOf(seedSchema), title: 'What a new sandbox has in it' },
};

/** The text of every schema file, by file name. */
export function schemaFiles(): Files {
  return new Map(
    Object.entries(published).map(([id, { schema, title }]) => [
      `${id}.schema.json`,
      textOf(id, title, schema()),
    ]),
  );
}

/** Whether a file of the folder is one of the schemas. */
export const isSchemaFile = (name: string): boolean => name.endsWith('.schema.json');

function textOf(id: string, title: string, schema: Json): string {
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  return `${JSON.stringify({ $schema, $id: `urn:ringback:schema:${id}`, title, ...schema }, null, 2)}\n`;
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
