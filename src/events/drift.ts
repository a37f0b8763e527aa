import type { CallEvent } from './model.ts';
import { isRecord } from '../kit/values.ts';
import { type KnownShape, knownShapeOf } from './known-shape.ts';
import { type KnownEventName, isKnownEventName } from './names.ts';
import { idAliasesOfKnown, organizationIdNames } from './read-event.ts';
import { envelopeOf } from './schemas.ts';

/** How something differs from the platform's document. */
export type DriftKind = 'unknown_field' | 'type_changed' | 'unknown_event' | 'unknown_value';

/** A difference between an event and the platform's document: where and of what kind, never the value. */
export interface Drift {
  /** `*` if the name doesn't have the form of an event's name. */
  readonly eventName: string;
  /**
   * Where in the body: dotted, `[]` for the items of an array, `*` for a name that isn't a plain identifier.
   * Empty for an unknown event.
   */
  readonly path: string;
  readonly kind: DriftKind;
}

/** The most differences reported, and values examined, per event: the sender decides how large a body is. */
const maxFindings = 200;
const maxValues = 10_000;

/** Only plain identifiers are kept: a field's name may be personal data, such as a phone number. */
const plainName = /^[A-Za-z_]\w{0,63}$/;
const plainEventName = /^[A-Za-z][\w.:/-]{0,99}$/;

/** How a body is compared in one pass. */
interface Comparison {
  readonly eventName: KnownEventName;
  /** Names of fields, from the outermost; null for the items of an array. A path is built only for a difference. */
  readonly path: (string | null)[];
  /** How many values have been compared. */
  values: number;
  /** By kind and path. Undefined until something is found: most events are as documented. */
  found: Map<string, Drift> | undefined;
}

const nothingFound: readonly Drift[] = [];

/** All differences in an event, each once. The contents of unknown fields are not examined. */
export function driftOf({ eventName, body }: CallEvent): readonly Drift[] {
  if (!isKnownEventName(eventName)) {
    const name = plainEventName.test(eventName) ? eventName : '*';
    return [{ eventName: name, path: '', kind: 'unknown_event' }];
  }
  const { wrapped, flat } = bodyShapes.get(eventName) ?? makeShapes(eventName);
  const comparison: Comparison = { eventName, path: [], values: 0, found: undefined };
  compare(comparison, body, isRecord(body['payload']) ? wrapped : flat);
  return comparison.found ? [...comparison.found.values()] : nothingFound;
}

function compare(comparison: Comparison, value: unknown, shape: KnownShape): void {
  const { path } = comparison;
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  if (shape.types.size > 0 && !shape.types.has(type)) return find(comparison, 'type_changed');
  if (typeof value === 'string') {
    if (shape.values.size > 0 && !shape.values.has(value)) find(comparison, 'unknown_value');
  } else if (Array.isArray(value)) {
    if (shape.items) compareItems(comparison, value, shape.items);
  } else if (isRecord(value)) {
    for (const name of Object.keys(value)) {
      comparison.values += 1;
      if (comparison.values > maxValues) return;
      const known = shape.fields.get(name);
      path.push(name);
      if (known) compare(comparison, value[name], known);
      else find(comparison, 'unknown_field');
      path.pop();
    }
  }
}

function compareItems(comparison: Comparison, items: readonly unknown[], shape: KnownShape): void {
  comparison.path.push(null);
  for (const item of items) {
    comparison.values += 1;
    if (comparison.values > maxValues) break;
    compare(comparison, item, shape);
  }
  comparison.path.pop();
}

function find(comparison: Comparison, kind: DriftKind): void {
  comparison.found ??= new Map();
  if (comparison.found.size >= maxFindings) return;
  const { eventName } = comparison;
  const path = pathOf(comparison.path);
  comparison.found.set(`${kind} ${path}`, { eventName, path, kind });
}

function pathOf(names: readonly (string | null)[]): string {
  let path = '';
  for (const name of names) {
    if (name === null) path += '[]';
    else path += `${path === '' ? '' : '.'}${plainName.test(name) ? name : '*'}`;
  }
  return path;
}

interface BodyShapes {
  readonly wrapped: KnownShape;
  readonly flat: KnownShape;
}

/** Made when the first event of a name comes. */
const bodyShapes = new Map<KnownEventName, BodyShapes>();

/** A flat event has the payload's fields next to the envelope's. Alternative names of ids are known too. */
function makeShapes(eventName: KnownEventName): BodyShapes {
  const envelope = knownShapeOf(envelopeOf(eventName));
  const payload = withAliases(envelope.fields.get('payload') ?? nothingKnown, idAliasesOfKnown);
  const body = withAliases(envelope, { organizationId: organizationIdNames });
  const organization = body.fields.get('organizationId') ?? nothingKnown;
  const inPayload = organizationIdNames.map((name) => [name, organization] as const);
  const noPayload: KnownShape = { ...nothingKnown, types: new Set(['object', 'null']) };
  const made = {
    wrapped: withFields(body, [['payload', withFields(payload, inPayload)]]),
    flat: withFields(payload, [...body.fields, ['payload', noPayload]]),
  };
  bodyShapes.set(eventName, made);
  return made;
}

const nothingKnown: KnownShape = {
  types: new Set(),
  values: new Set(),
  fields: new Map(),
  items: undefined,
};

function withAliases(shape: KnownShape, aliasesOf: Readonly<Record<string, readonly string[]>>): KnownShape {
  const aliases = Object.entries(aliasesOf).flatMap(([name, others]) =>
    others.map((alias) => [alias, shape.fields.get(name) ?? nothingKnown] as const),
  );
  return withFields(shape, aliases);
}

function withFields(shape: KnownShape, fields: readonly (readonly [string, KnownShape])[]): KnownShape {
  return { ...shape, fields: new Map([...shape.fields, ...fields]) };
}
