import type { z } from 'zod';
import { valueAt } from '../../kit/values.ts';
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

/**
 * A tool's answers to refused and failed calls. Every answer is a JSON object, so that the model always gets one. Every
 * error is one sentence that a voice agent can speak about.
 */
const refusals = {
  /** Sent before anything is read: a caller without the headers learns nothing about the tools. */
  not_authentic: { status: 401, error: 'The tool did not accept this call.' },
  unknown_tool: { status: 404, error: 'There is no such tool.' },
  method: { status: 405, error: 'The tool was called with a method that it does not support.' },
  too_large: { status: 413, error: 'The request to the tool was too large.' },
  encoded: { status: 415, error: 'The tool could not read what was sent to it.' },
  unreadable: { status: 400, error: 'The tool could not read what was sent to it.' },
  broken_off: { status: 400, error: 'The tool could not read what was sent to it.' },
  failed: { status: 500, error: 'That did not work just now.' },
  deadline: { status: 504, error: 'That is taking too long just now.' },
} as const;

type ToolRefusalCode = keyof typeof refusals;

export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
  readonly code: ToolRefusalCode;

  constructor(code: ToolRefusalCode) {
    super(code);
    this.code = code;
  }
}

export interface ToolAnswer {
  readonly status: number;
  readonly body: string;
}

export function refusalAnswer(code: ToolRefusalCode): ToolAnswer {
  const { status, error } = refusals[code];
  return { status, body: JSON.stringify({ error }) };
}

/**
 * The answer to a failure that the agent may speak about. Its status is 200, because the platform may not show the
 * model the body of other answers: then the agent could neither explain the failure nor ask for a missing argument.
 */
export function spokenAnswer(error: string): ToolAnswer {
  return { status: 200, body: JSON.stringify({ error }) };
}

/** The answer with a result: an object unchanged, anything else as `{ result }`. Throws if JSON can't write it. */
export function resultAnswer(result: unknown): ToolAnswer {
  const text = JSON.stringify(result) as string | undefined;
  const isWhole = text?.startsWith('{') === true;
  return { status: 200, body: isWhole ? text : `{"result":${text ?? 'null'}}` };
}
