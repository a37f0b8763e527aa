/**
 * A tool's answers to calls that it refuses or that fail. Every answer is a JSON object, so that the model always reads
 * one. Every error is one sentence that a voice agent can speak about, without further details.
 */
const refusals = {
  /** Answered before anything is read: a caller without the headers learns nothing about the tools. */
  not_authentic: { status: 401, error: 'The tool did not accept this call.' },
  unknown_tool: { status: 404, error: 'There is no such tool.' },
  method: { status: 405, error: 'The tool was called in a way that it does not know.' },
  too_large: { status: 413, error: 'Too much was sent to the tool at once.' },
  encoded: { status: 415, error: 'The tool could not read what was sent to it.' },
  unreadable: { status: 400, error: 'The tool could not read what was sent to it.' },
  broken_off: { status: 400, error: 'The tool could not read what was sent to it.' },
  failed: { status: 500, error: 'That did not work just now.' },
  deadline: { status: 504, error: 'That is taking too long just now.' },
} as const;

/** Why a tool gives no result. */
export type ToolRefusalCode = keyof typeof refusals;

/** Thrown when a call is refused. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
  readonly code: ToolRefusalCode;

  constructor(code: ToolRefusalCode) {
    super(code);
    this.code = code;
  }
}

/** What is written to the socket. */
export interface ToolAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** The answer to a call that is refused, or that failed. */
export function refusalAnswer(code: ToolRefusalCode): ToolAnswer {
  const { status, error } = refusals[code];
  return { status, body: JSON.stringify({ error }) };
}

/**
 * The answer to a failure that the agent may speak about. It is a 200, because it is not known whether the platform
 * shows the model the body of other answers. Without the sentence, the agent could neither explain the failure nor ask
 * for a missing argument.
 */
export function spokenAnswer(error: string): ToolAnswer {
  return { status: 200, body: JSON.stringify({ error }) };
}

/** The answer with a result: an object as it is, anything else as `{ result }`. Throws if JSON can't write it. */
export function resultAnswer(result: unknown): ToolAnswer {
  const text = JSON.stringify(result) as string | undefined;
  const isObject = text?.startsWith('{') === true;
  return { status: 200, body: isObject ? text : `{"result":${text ?? 'null'}}` };
}
