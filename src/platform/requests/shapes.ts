import { z } from 'zod';
import { PlatformError, oneLine } from './platform-error.ts';
import { type AskedFor, doubtAbout } from './request.ts';

/** The known values, and any other text: the platform may extend its enumerations at any time. */
export type OpenEnumeration<Known extends string> = Known | (string & Record<never, never>);

/** Names of read-only fields in answers: times, ids and counts. */
export const readOnlyName = /(^|_)(at|id|by|count)$/;

/** Treats null like a missing field: both get the default, so that one such entry doesn't hide all others of a list. */
export function withDefault<Schema extends z.ZodType, Default>(schema: Schema, value: Default) {
  return schema.nullish().transform((given) => given ?? value);
}

/** An optional field. The document says that unset fields are absent; null is read as unset as well. */
export function unset<Schema extends z.ZodType>(schema: Schema) {
  return withDefault(schema, undefined);
}

/** How many problems of a list an error lists: an answer may repeat one problem in millions of items. */
const maxIssues = 20;

/**
 * A list that stops reading after enough wrong items. Zod's own list makes an issue of each problem: a large answer in
 * another shape would block the thread for minutes and fill the memory.
 */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z
    .array(z.unknown())
    .transform((values, context) => inOrder(values.entries(), item, context).map(([, value]) => value));
}

/** An object with values of one kind, read like a list. */
export function recordOf<Item extends z.ZodType>(item: Item) {
  return z
    .record(z.string(), z.unknown())
    .transform((values, context) => Object.fromEntries(inOrder(Object.entries(values), item, context)));
}

/** Reads items until there are enough problems. */
function inOrder<Key extends PropertyKey, Item extends z.ZodType>(
  entries: Iterable<readonly [Key, unknown]>,
  item: Item,
  context: z.RefinementCtx,
): (readonly [Key, z.output<Item>])[] {
  const read: (readonly [Key, z.output<Item>])[] = [];
  for (const [key, value] of entries) {
    const { success, data, error } = item.safeParse(value);
    if (success) read.push([key, data]);
    else addIssues(context, key, error.issues);
    if (context.issues.length >= maxIssues) break;
  }
  return read;
}

function addIssues(context: z.RefinementCtx, key: PropertyKey, issues: readonly z.core.$ZodIssue[]): void {
  for (const { path, message } of issues) {
    context.addIssue({ code: 'custom', path: [key, ...path], message });
  }
}

/** Placeholders that a platform may answer in place of a credential. */
export const masked = /\*{3}|•{3}|^\[?(redacted|masked|hidden)\]?$/i;

/** The body of an answer in the given shape. @throws PlatformError `unexpected_answer` */
export function inShape<Shape extends z.ZodType>(
  shape: Shape,
  body: unknown,
  request: AskedFor,
  status: number,
): z.output<Shape> {
  const result = shape.safeParse(body);
  if (result.success) return result.data;
  throw unexpectedAnswer(request, status, result.error.issues);
}

/** A success in another shape than the document's. The error says what was expected where, and quotes no value. */
function unexpectedAnswer(
  request: AskedFor,
  status: number,
  issues: readonly z.core.$ZodIssue[],
): PlatformError {
  const { operation } = request;
  const details = issues.map(({ path, message }) => ({ path: path.map(String).join('.'), problem: message }));
  const [first] = details;
  return new PlatformError(
    `${operation} should get an answer as the platform documents it, but ${oneLine(first?.path ?? '') || 'the answer'} is not: ` +
      `${first?.problem ?? 'it has another form'}. Check that baseUrl is the address of the API.${doubtAbout(request)}`,
    { operation, code: 'unexpected_answer', status, details },
  );
}
