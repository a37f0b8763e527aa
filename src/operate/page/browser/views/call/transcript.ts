/** Finds the transcript in the body of a transfer, which is flat or has its fields in a payload. */

/** What somebody said. */
export interface Turn {
  /** Who spoke, if that is known. */
  readonly role?: string;
  readonly text: string;
}

/** No turns if there is no transcript. One that is not a list of messages is a single turn. */
export function transcriptIn(body: unknown): readonly Turn[] {
  if (!isRecord(body)) return [];
  const { transcript = null } = isRecord(body['payload']) ? body['payload'] : body;
  if (transcript === null) return [];
  return Array.isArray(transcript) ? transcript.map(turnOf) : [{ text: textOf(transcript) }];
}

/** A message without text is shown as it was sent. */
function turnOf(message: unknown): Turn {
  if (!isRecord(message) || typeof message['content'] !== 'string') return { text: textOf(message) };
  const { role, content } = message;
  return typeof role === 'string' ? { role, text: content } : { text: content };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
