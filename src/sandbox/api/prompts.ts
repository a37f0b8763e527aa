import { hash } from 'node:crypto';
import { z } from 'zod';
import { validated } from './request.ts';
import { type ApiAnswer, type ApiRequest, type Route, routesOf } from './route.ts';

const bodySchema = z.object({
  raw_prompt: z.string('Should be text').regex(/\S/, 'Should not be blank'),
  instructions: z.string('Should be text').default(''),
});

/** Half of a SHA-256, in hexadecimal digits: enough that no two requests share an id. */
const idLength = 32;

/** Prompt generation (platform document, POST generate). The status 200 and required fields are our choice. */
export function promptRoutes(generatePrompt: PromptGenerator): readonly Route[] {
  const path = '/v1/prompt-generation/prompt/generate';
  return [
    routesOf('prompts', 'general')('generate', 'POST', path, (request) => generate(request, generatePrompt)),
  ];
}

/** The same request by the same user always gets the same id, whatever the generator returns. */
async function generate(
  { caller: { userId }, body, signal }: ApiRequest,
  generatePrompt: PromptGenerator,
): Promise<ApiAnswer> {
  const { raw_prompt: rawPrompt, instructions } = validated(bodySchema, body, 'body');
  const identity = hash('sha256', JSON.stringify([userId, rawPrompt, instructions]));
  const prompt: unknown = await generatePrompt({ rawPrompt, instructions, userId, signal });
  // The generator is user code, perhaps untyped: the client must get only documented answers.
  if (typeof prompt !== 'string') throw new TypeError('generatePrompt should return text');
  return {
    status: 200,
    body: { user_id: userId, prompt_id: `prompt_${identity.slice(0, idLength)}`, prompt },
  };
}

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
