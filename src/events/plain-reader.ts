/**
 * Reads values that are valid and that the schema doesn't convert: nearly all that the platform sends. That is many
 * times cheaper than the schema's own parser, which reads the rest.
 */
import type { z } from 'zod';
import { isRecord } from '../kit/values.ts';
import { defOf, maxItems } from './documented-part.ts';
import { nullAsMissing } from './schemas.ts';

/** Returned for a value that only the schema's own parser can convert, or find the fault of. */
export const unusual = Symbol('unusual');

/** What a schema accepts. A value of a kind that is not listed is unusual. */
export interface PlainShape {
  readonly isOptional?: boolean;
  readonly text?: readonly TextCheck[];
  readonly takesNumbers?: boolean;
  readonly items?: PlainShape;
  readonly fields?: readonly (readonly [name: string, shape: PlainShape])[];
}

/** For a check of another kind, all three are undefined, and no text passes. */
type TextCheck = Partial<
  Pick<z.core.$ZodCheckRegexDef, 'pattern'> &
    Pick<z.core.$ZodCheckMaxLengthDef, 'maximum'> &
    Pick<z.core.$ZodCustomDef<string>, 'fn'>
>;

const nothing: PlainShape = {};

/** Knows the kinds of schema that describe events; for others, every value is unusual. */
export function plainShapeOf(schema: z.core.$ZodType): PlainShape {
  const def = defOf(schema);
  if (def.type === 'string') return { text: (def.checks ?? []).map(({ _zod }) => _zod.def as TextCheck) };
  // A check may refuse a value of the right kind.
  if (def.checks?.length) return nothing;
  if (def.type === 'number') return { takesNumbers: true };
  if (def.type === 'nullable') return plainShapeOf(def.innerType);
  if (def.type === 'optional') return { ...plainShapeOf(def.innerType), isOptional: true };
  if (def.type === 'union') return eitherOf(def.options.map(plainShapeOf));
  if (def.type === 'array') return { items: plainShapeOf(def.element) };
  if (def.type === 'object') return shapeOfObject(def);
  return def.type === 'pipe' ? transformed(plainShapeOf(def.in), def.out) : nothing;
}

/** Only texts and numbers are read as alternatives: which of several objects a value is would have to be found out. */
function eitherOf(shapes: readonly PlainShape[]): PlainShape {
  const areSimple = shapes.every(({ text, takesNumbers }) => text ?? takesNumbers);
  return areSimple ? (Object.assign({}, ...shapes) as PlainShape) : nothing;
}

function shapeOfObject({ shape, catchall }: z.core.$ZodObjectDef): PlainShape {
  // Only objects that keep unknown fields as they are can be read here.
  if (!catchall || defOf(catchall).type !== 'unknown') return nothing;
  return { fields: Object.entries(shape).map(([name, field]) => [name, plainShapeOf(field)]) };
}

/** What a transformation leaves as it is: `String` texts, and `nullAsMissing` all that is there. */
function transformed(shape: PlainShape, out: z.core.$ZodType): PlainShape {
  const def = defOf(out);
  if (def.type !== 'transform') return nothing;
  if (def.transform === nullAsMissing) return shape;
  return def.transform === String && shape.text ? { text: shape.text } : nothing;
}

/** A copy of a value that its schema accepts without converting anything; for any other value, `unusual`. */
export function readPlain(shape: PlainShape, value: unknown): unknown {
  if (value === undefined) return shape.isOptional ? undefined : unusual;
  if (typeof value === 'string') return passes(value, shape.text) ? value : unusual;
  if (typeof value === 'number') return shape.takesNumbers && Number.isFinite(value) ? value : unusual;
  if (Array.isArray(value)) return readPlainItems(shape, value);
  return isRecord(value) ? readPlainFields(shape, { ...value }) : unusual;
}

function passes(text: string, checks: PlainShape['text']): boolean {
  if (!checks) return false;
  for (const { pattern, maximum, fn } of checks) {
    const isPassed = maximum === undefined ? (pattern?.test(text) ?? fn?.(text)) : text.length <= maximum;
    if (isPassed !== true) return false;
  }
  return true;
}

function readPlainItems({ items: shape }: PlainShape, list: readonly unknown[]): unknown {
  if (!shape || list.length > maxItems) return unusual;
  const items: unknown[] = [];
  for (const item of list) {
    const plain = readPlain(shape, item);
    if (plain === unusual) return unusual;
    items.push(plain);
  }
  return items;
}

/** The same for an object that is the caller's own: it is changed instead of copied. */
export function readPlainFields({ fields }: PlainShape, own: Record<string, unknown>): unknown {
  if (!fields || Object.hasOwn(own, '__proto__')) return unusual;
  for (const [name, shape] of fields) {
    const field = own[name];
    const plain = readPlain(shape, field);
    if (plain === unusual) return unusual;
    if (plain !== field) own[name] = plain;
  }
  return own;
}
