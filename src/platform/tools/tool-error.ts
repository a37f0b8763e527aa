import type { z } from 'zod';
import { isObject } from '../../kit/values.ts';
import type { ParametersSchema } from './parameters-schema.ts';

/** How many problems are named: a caller can't remember more than a few. */
const maxNamed = 5;

/**
 * A failure that the voice agent may speak about. If a tool's `run` throws it, the agent gets its message, which should
 * be one sentence for the caller. The messages of other errors are not sent, because they may contain anything.
 *
 * @example
 * run: async ({ order_number }) => {
 *   const order = await orders.find(order_number);
 *   if (order === undefined) throw new ToolError('There is no order with that number.');
 *   return { status: order.status };
 * }
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Describes wrong arguments in one sentence, so that the agent can ask for the right ones. Quotes no value. */
export function argumentsError(error: z.ZodError, given: unknown, schema: ParametersSchema): ToolError {
  const problems = error.issues.slice(0, maxNamed).map((issue) => problemOf(issue, given, schema));
  return new ToolError(`This can't be done yet: ${[...new Set(problems)].join('; ')}.`);
}

function problemOf({ path, message }: z.core.$ZodIssue, given: unknown, schema: ParametersSchema): string {
  const name = path.map(String).join('.');
  const reason = message.replace(/^Invalid (?:input|option): /, '').replace(/\.$/, '');
  if (name === '') return reason;
  const [parameter = ''] = path;
  // An additional argument may have the name of an inherited property, such as `constructor`.
  const known = Object.hasOwn(schema.properties, parameter)
    ? schema.properties[String(parameter)]
    : undefined;
  const description = known?.description.replace(/\.$/, '');
  const isMissing = valueAt(given, path) === undefined;
  const label = path.length === 1 && description !== undefined ? `${name} (${description})` : name;
  return isMissing ? `${label} is missing` : `${label} is not right: ${reason}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, step) => (isObject(inner) && Object.hasOwn(inner, step) ? Reflect.get(inner, step) : undefined),
    value,
  );
}
