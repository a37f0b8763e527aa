/** A request for a prompt (platform document, POST generate). */
export interface PromptRequest {
  /** As it was sent; not blank. */
  readonly rawPrompt: string;
  /** Empty when there are none. */
  readonly instructions: string;
  /** The user whose key the request came with. */
  readonly userId: string;
  /** Aborted when the client goes away or the sandbox stops. */
  readonly signal: AbortSignal;
}

/** Generates the prompt for a request. When it throws, the request is answered with 503. */
export type PromptGenerator = (request: PromptRequest) => string | Promise<string>;

/**
 * Puts the raw prompt and the instructions under two headings. It uses no model, so that the same request always gives
 * the same prompt, and tests of a client are reproducible.
 */
export function headedPrompt({ rawPrompt, instructions }: Omit<PromptRequest, 'signal'>): string {
  const sections = [section('Task', rawPrompt), section('Instructions', instructions)];
  return sections.filter((text) => text !== undefined).join('\n');
}

function section(heading: string, text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === '' ? undefined : `# ${heading}\n\n${trimmed}\n`;
}
