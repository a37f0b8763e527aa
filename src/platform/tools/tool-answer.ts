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

export type ToolRefusalCode = keyof typeof refusals;

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
  const isObject = text?.startsWith('{') === true;
  return { status: 200, body: isObject ? text : `{"result":${text ?? 'null'}}` };
}
