import type { z } from 'zod';
import { isObject } from '../../option-problems.ts';
import type { ParametersSchema } from './parameters-schema.ts';

/** A voice agent reads this out, or asks for what is missing: more than a few are not kept in mind. */
const mostNamed = 5;

/**
 * A failure that the voice agent may speak about. Thrown by a tool's `run`, its message, one sentence that a caller may
 * hear, is what the agent gets; what any other error says stays here, because it may hold anything.
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

/** What is wrong with arguments, in one sentence by which the agent can ask for the right ones. No value is in it. */
export function argumentsError(error: z.ZodError, given: unknown, schema: ParametersSchema): ToolError {
  const problems = error.issues.slice(0, mostNamed).map((issue) => problemOf(issue, given, schema));
  return new ToolError(`This can't be done yet: ${[...new Set(problems)].join('; ')}.`);
}

function problemOf({ path, message }: z.core.$ZodIssue, given: unknown, schema: ParametersSchema): string {
  const name = path.map(String).join('.');
  const reason = message.replace(/^Invalid (?:input|option): /, '').replace(/\.$/, '');
  if (name === '') return reason;
  const [parameter = ''] = path;
  // Where others are taken as well, one may be called as what every object has: `constructor`.
  const known = Object.hasOwn(schema.properties, parameter)
    ? schema.properties[String(parameter)]
    : undefined;
  const description = known?.description.replace(/\.$/, '');
  const isMissing = valueAt(given, path) === undefined;
  const told = path.length === 1 && description !== undefined ? `${name} (${description})` : name;
  return isMissing ? `${told} is missing` : `${told} is not right: ${reason}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, step) => (isObject(inner) && Object.hasOwn(inner, step) ? Reflect.get(inner, step) : undefined),
    value,
  );
}
