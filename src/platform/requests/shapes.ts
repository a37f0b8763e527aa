/** Reads answers in the shape that they should have. */
import type { z } from 'zod';
import { PlatformError } from './platform-error.ts';
import { oneLine } from './redact.ts';
import { type AskedFor, doubtAbout } from './request.ts';

/** The values that are known, and any other text: the platform may add to its enumerations at any time. */
export type OpenEnumeration<Known extends string> = Known | (string & Record<never, never>);

/** Names of fields in answers that no request sets: times, ids and counts. */
export const readOnlyName = /(^|_)(at|id|by|count)$/;

/** The document says that unset fields are absent. A field that is null is read as unset as well. */
export function unset<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** Texts that a platform may answer in place of a credential. */
export const masked = /\*{3}|•{3}|^\[?(redacted|masked|hidden)\]?$/i;

/**
 * The body of an answer in the given shape.
 *
 * @throws PlatformError `unexpected_answer`
 */
export function inShape<Shape extends z.ZodType>(
  shape: Shape,
  body: unknown,
  request: AskedFor,
  status?: number,
): z.output<Shape> {
  const result = shape.safeParse(body);
  if (result.success) return result.data;
  throw unexpectedAnswer(request, status, result.error.issues);
}

/** A success in another shape than the document's. The error says what was expected and where, and quotes no value. */
function unexpectedAnswer(
  request: AskedFor,
  status: number | undefined,
  issues: readonly z.core.$ZodIssue[],
): PlatformError {
  const { operation } = request;
  const details = issues.map(({ path, message }) => ({ path: path.map(String).join('.'), problem: message }));
  const [first] = details;
  return new PlatformError(
    `${operation} should be answered as the platform's document says, but ${oneLine(first?.path ?? '') || 'the answer'} is not: ` +
      `${first?.problem ?? 'it has another form'}. Check that baseUrl is the address of the API.${doubtAbout(request)}`,
    { operation, code: 'unexpected_answer', status, details },
  );
}
