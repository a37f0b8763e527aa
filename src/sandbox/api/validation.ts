import type { z } from 'zod';
import { isObject } from '../../option-problems.ts';
import { ApiError, type Issue } from './route.ts';

/** The part of a request that a value came from: the first step of `loc` (platform document, HTTPValidationError). */
export type RequestPart = 'path' | 'query' | 'body';

/** The most issues in one answer: with a mistake in each of ten thousand entries, it would be larger than the body. */
const mostIssues = 20;

/**
 * Checks a part of a request against a schema, and returns the schema's output. The messages are the schema's own; they
 * never repeat a value, which may be a credential.
 *
 * @throws ApiError `invalid` with an issue for each thing that is wrong, at most twenty
 */
export function validated<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  part: RequestPart,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, mostIssues).map((issue) => issueOf(issue, value, part));
  throw new ApiError('invalid', 'The request is not valid', issues);
}

function issueOf({ code, path, message }: z.core.$ZodIssue, value: unknown, part: RequestPart): Issue {
  const steps = path.map((step) => (typeof step === 'number' ? step : String(step)));
  const found = steps.reduce<unknown>((inner, step) => (isObject(inner) ? inner[step] : undefined), value);
  const loc = [part, ...steps];
  return found === undefined
    ? { loc, msg: 'Should be given', type: 'missing' }
    : { loc, msg: message, type: code };
}
