/**
 * Bodies of a known event that are as documented, and what they can be instead: each field missing or of any kind, ids
 * under every name, flat and in the envelope. They are always the same ones, in the same order.
 */
import { transfer } from '../../scripts/fixture-parts.ts';
import { type KnownShape, knownShapeOf } from '../../src/events/known-shape.ts';
import { type KnownEventName, knownEventNames } from '../../src/events/names.ts';
import { idAliasesOfKnown, organizationIdNames } from '../../src/events/read-event.ts';
import { payloadSchemas } from '../../src/events/schemas.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** How a body is made: in the envelope, flat without a payload, or flat with a payload that is null. */
export const forms = ['enveloped', 'flat', 'flat beside null'] as const;

export type Form = (typeof forms)[number];

/** One body, and in a few words what it is. */
export interface Variation {
  readonly what: string;
  /** JSON, as it is sent. */
  readonly text: string;
}

/** Texts that are no ids, which a schema can't tell. */
const unstorable: readonly unknown[] = ['half \ud800', 'zero \0'];

/** Values of each JSON type, and texts that are none: empty, blank, too long for an id, or that can't be stored. */
const values: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  1767225600.5,
  '',
  ' ',
  'text',
  '2026-01-01T00:00:00.123456789Z',
  'x'.repeat(513),
  ...unstorable,
  [],
  ['text'],
  [0],
  [null],
  [{}],
  {},
  { unknown: 1 },
];

/** What an id may be under one of its names while it is something else under another. */
const ids: readonly unknown[] = [
  undefined,
  null,
  '',
  ' ',
  'id',
  7,
  false,
  {},
  'x'.repeat(512),
  'x'.repeat(513),
];

/** The envelope's fields but for the name, under all of their names. */
const fieldsAround = ['traceId', 'event', 'timestamp', ...organizationIdNames];

/** All bodies of an event in one form. */
export function variationsOf(name: KnownEventName, form: Form): Variation[] {
  const payload = payloadOf(name);
  const ofPayload = [
    { what: 'as documented', fields: payload },
    ...changesOf(payload, pathsOf(knownShapeOf(payloadSchemas[name]))),
    ...Object.entries(idAliasesOfKnown).flatMap(([id, others]) => idsUnder([id, ...others], payload)),
    ...unknownFields(payload),
  ];
  const documented = inForm(form, payload, envelopeOf(name));
  const ofEnvelope = [
    ...changesOf(
      documented,
      fieldsAround.map((field) => [field]),
    ),
    ...namesIn(documented),
    ...payloadsBeside(documented, payload),
  ];
  return [
    ...ofPayload.map(({ what, fields }) => ({ what, body: inForm(form, fields, envelopeOf(name)) })),
    ...ofEnvelope.map(({ what, fields }) => ({ what, body: fields })),
  ].map(({ what, body }, index) => ({ what, text: JSON.stringify(withOwnId(body, index)) }));
}

interface Change {
  readonly what: string;
  readonly fields: Fields;
}

/** Each field with each of the values. See `unstorable`. */
function changesOf(fields: Fields, paths: readonly Path[]): Change[] {
  return paths.flatMap((path) =>
    values
      .filter((value) => !unstorable.includes(value) || path.at(-1) !== 'call_id')
      .map((value) => ({
        what: described({ [path.join('.')]: value }),
        fields: changed(fields, path, value),
      })),
  );
}

/** The name in the body: of every known event, of none, or in another case. See `unstorable`. */
function namesIn(fields: Fields): Change[] {
  const names = [
    ...values,
    ...knownEventNames,
    ...knownEventNames.map((name) => name.toLowerCase()),
    'A.B',
    'x'.repeat(512),
  ];
  return names
    .filter((name) => !unstorable.includes(name))
    .map((eventName) => ({ what: described({ eventName }), fields: { ...fields, eventName } }));
}

/** Every combination of what an id may be under its names. */
function idsUnder(names: readonly string[], fields: Fields): Change[] {
  return names
    .reduce<Fields[]>(
      (made, name) => made.flatMap((each) => ids.map((id) => ({ ...each, [name]: id }))),
      [{}],
    )
    .map((under) => ({ what: described(under), fields: { ...fields, ...under } }));
}

/** What nobody knows yet, in the payload and in its objects, whatever it is called. */
function unknownFields(fields: Fields): Change[] {
  const named = ['unknown', 'constructor', '__proto__'].flatMap((name) =>
    [[name], ['caller', name], ['transcript', 0, name]].map((path) => ({ path, value: { call_id: 7 } })),
  );
  return named
    .filter(({ path: [outermost = ''], path }) => path.length === 1 || Object.hasOwn(fields, outermost))
    .map(({ path, value }) => ({ what: `with ${path.join('.')}`, fields: changed(fields, path, value) }));
}

/** Payloads of every kind beside whatever else the body has, which may be the fields of a payload. */
function payloadsBeside(body: Fields, payload: Fields): Change[] {
  return [...values, [payload], JSON.stringify(payload), { ...payload, call_id: {} }, payload]
    .flatMap((each) => [
      { ...body, payload: each },
      { ...body, call_id: {}, payload: each },
    ])
    .map((fields) => ({ what: described({ payload: fields.payload }), fields }));
}

type Path = readonly (string | number)[];

/** The paths of all documented fields, and of the first item of each list. */
function pathsOf({ fields, items }: KnownShape, path: Path = []): Path[] {
  const inItems = items ? [[...path, 0], ...pathsOf(items, [...path, 0])] : [];
  const inFields = [...fields].flatMap(([name, field]) => [
    [...path, name],
    ...pathsOf(field, [...path, name]),
  ]);
  return [...inFields, ...inItems];
}

/** A copy with another value in one place. Whatever is on the way to it is made. */
function changed(whole: unknown, [first, ...rest]: Path, value: unknown): Fields {
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as Fields) }) as Record<
    string | number,
    unknown
  >;
  if (first === undefined) throw new Error('A path should lead somewhere');
  const inside = rest.length === 0 ? value : changed(copy[first], rest, value);
  // An assignment would set the prototype where the name is __proto__.
  Object.defineProperty(copy, first, { value: inside, enumerable: true, configurable: true, writable: true });
  return copy;
}

function inForm(form: Form, payload: Fields, envelope: Fields): Fields {
  if (form === 'enveloped') return { ...envelope, payload };
  const flat = { ...payload, ...envelope };
  return form === 'flat' ? flat : { ...flat, payload: null };
}

function payloadOf(name: KnownEventName): Fields {
  if (name === 'CallHandler.CallTransferred') return transfer();
  const analysed = name === 'callAnalysis.pcaCompleted' && { reason: 'finished', timestamp: 1767225600000 };
  return { call_id: 'call-1', agent_id: 'agent-1', status: 'success', ...analysed };
}

function envelopeOf(eventName: string): Fields {
  return { organizationId: 'org-1', eventName, event: 'short', timestamp: 1767225600 };
}

/** Bodies that are alike must not count as duplicates. */
function withOwnId(body: Fields, index: number): Fields {
  return Object.hasOwn(body, 'traceId')
    ? { ...body, variation: index }
    : { traceId: `variation-${index}`, ...body };
}

function described(fields: Fields): string {
  return JSON.stringify(fields, (_, value: unknown) => value ?? null).slice(0, 80);
}
