import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventsDocument } from '../../scripts/events-document.ts';
import { staleFiles } from '../../scripts/generated.ts';
import { schemaFiles } from '../../scripts/schemas.ts';
import { type KnownEventName, knownEventNames } from '../../src/events/names.ts';
import { anchors, literal, root, tables } from './documents.ts';

const document = 'docs/events.md';

describe('the document of the events', () => {
  const ofEvents = tables(document, 'field of the payload', 'type', 'meaning');
  const schemas: Readonly<Record<KnownEventName, string>> = {
    'CallHandler.CallStarted': 'call-started',
    'CallHandler.CallEnded': 'call-ended',
    'CallHandler.CallTransferred': 'call-transferred-wrapped',
    'callAnalysis.pcaCompleted': 'pca-completed',
  };

  it('is that of the sources', () => {
    const files = new Map([['events.md', eventsDocument()]]);
    const owns = (name: string) => files.has(name);
    expect(staleFiles({ folder: join(root, 'docs'), files, command: '', owns })).toEqual([]);
  });

  it.each(knownEventNames.map((name, index) => ({ name, index })))(
    'has every field of $name that its schema has, and those that are required',
    ({ name, index }) => {
      const { properties }: Json = JSON.parse(schemaFiles().get(`${schemas[name]}.schema.json`) ?? '');
      const { payload = {} } = properties ?? {};
      const rows = ofEvents[index] ?? [];
      expect(rows.map(([field]) => literal(field))).toEqual(fieldsOf(payload));
      const required = rows.filter(([, type]) => type?.endsWith(', required'));
      // The id of the call is required under one of its names, of which the first is the documented one.
      const ids = payload.allOf?.flatMap(({ anyOf }) => anyOf?.[0]?.required ?? []) ?? [];
      const inSchema = [...ids, ...(payload.required ?? [])];
      expect(required.map(([field]) => literal(field))).toEqual(inSchema);
      const sections = anchors(document).slice(-knownEventNames.length);
      expect(sections[index]).toBe(name.toLowerCase().replace('.', ''));
    },
  );
});

/** What the test reads of a JSON Schema. */
interface Json {
  readonly properties?: Readonly<Record<string, Json>>;
  readonly items?: Json;
  readonly allOf?: readonly Json[];
  readonly anyOf?: readonly Json[];
  readonly required?: readonly string[];
}

/** The paths of all fields of an object. */
function fieldsOf({ properties = {} }: Json, prefix = ''): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    return [path, ...[field, ...(field.anyOf ?? [])].flatMap((each) => within(each, path))];
  });
}

function within(field: Json, path: string): string[] {
  return [...fieldsOf(field, `${path}.`), ...(field.items ? fieldsOf(field.items, `${path}[].`) : [])];
}
