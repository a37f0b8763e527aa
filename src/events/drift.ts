import type { CallEvent } from './model.ts';
import { isRecord } from './decoding.ts';
import { type KnownShape, jsonTypeOf, knownShapeOf } from './known-shape.ts';
import { type KnownEventName, isKnownEventName } from './names.ts';
import { idAliasesOfKnown } from './read-payload.ts';
import { organizationIdNames } from './read-event.ts';
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

/** All differences in an event, each once. The contents of unknown fields are not examined. */
export function driftOf({ eventName, body }: CallEvent): readonly Drift[] {
  if (!isKnownEventName(eventName)) {
    const name = plainEventName.test(eventName) ? eventName : '*';
    return [{ eventName: name, path: '', kind: 'unknown_event' }];
  }
  const comparison = new Comparison(eventName);
  comparison.fields(body, shapesOf(eventName)[isRecord(body['payload']) ? 'wrapped' : 'flat']);
  return comparison.found;
}

const nothingFound: readonly Drift[] = [];

/** Compares a body in one pass. The path of a field is built only if a difference is found there. */
class Comparison {
  readonly #eventName: KnownEventName;
  /** Undefined until something is found: most events are as documented. */
  #found: Map<string, Drift> | undefined;
  /** Names of fields, from the outermost; null for the items of an array. */
  readonly #path: (string | null)[] = [];
  #values = 0;

  constructor(eventName: KnownEventName) {
    this.#eventName = eventName;
  }

  get found(): readonly Drift[] {
    return this.#found ? [...this.#found.values()] : nothingFound;
  }

  fields(fields: Readonly<Record<string, unknown>>, shape: KnownShape): void {
    for (const name of Object.keys(fields)) {
      if (this.#hasSeenEnough()) return;
      const known = shape.fields.get(name);
      this.#path.push(name);
      if (known) this.#compare(fields[name], known);
      else this.#find('unknown_field');
      this.#path.pop();
    }
  }

  #compare(value: unknown, shape: KnownShape): void {
    if (shape.types.size > 0 && !shape.types.has(jsonTypeOf(value))) return this.#find('type_changed');
    if (typeof value === 'string') {
      if (shape.values.size > 0 && !shape.values.has(value)) this.#find('unknown_value');
    } else if (Array.isArray(value)) this.#compareItems(value, shape);
    else if (isRecord(value)) this.fields(value, shape);
  }

  #compareItems(items: readonly unknown[], shape: KnownShape): void {
    if (!shape.items) return;
    this.#path.push(null);
    for (const item of items) {
      if (this.#hasSeenEnough()) break;
      this.#compare(item, shape.items);
    }
    this.#path.pop();
  }

  /** Counts one more value. */
  #hasSeenEnough(): boolean {
    this.#values += 1;
    return this.#values > maxValues;
  }

  #find(kind: DriftKind): void {
    this.#found ??= new Map();
    if (this.#found.size >= maxFindings) return;
    const path = pathOf(this.#path);
    this.#found.set(`${kind} ${path}`, { eventName: this.#eventName, path, kind });
  }
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

const shapes = new Map<KnownEventName, BodyShapes>();

/** Made when the first event of this name comes. */
function shapesOf(eventName: KnownEventName): BodyShapes {
  const made = shapes.get(eventName) ?? makeShapes(eventName);
  shapes.set(eventName, made);
  return made;
}

/** A flat event has the payload's fields next to the envelope's. Alternative names of ids are known too. */
function makeShapes(eventName: KnownEventName): BodyShapes {
  const envelope = knownShapeOf(envelopeOf(eventName));
  const payload = withAliases(envelope.fields.get('payload') ?? nothingKnown, idAliasesOfKnown);
  const body = withAliases(envelope, { organizationId: organizationIdNames });
  const organization = body.fields.get('organizationId') ?? nothingKnown;
  const inPayload = organizationIdNames.map((name) => [name, organization] as const);
  const noPayload: KnownShape = { ...nothingKnown, types: new Set(['object', 'null']) };
  return {
    wrapped: withFields(body, [['payload', withFields(payload, inPayload)]]),
    flat: withFields(payload, [...body.fields, ['payload', noPayload]]),
  };
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
