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

/** Prompt generation (platform document, POST generate). The status 200 and the required fields are our choice. */
export function promptRoutes(): readonly Route[] {
  const path = '/v1/prompt-generation/prompt/generate';
  return [routesOf('prompts', 'general')('generate', 'POST', path, generate)];
}

/**
 * Puts the raw prompt and the instructions under two headings. No model is used: the same request by the same user
 * always gives the same prompt with the same id, so that tests of a client are reproducible.
 */
function generate({ caller: { userId }, body }: ApiRequest): ApiAnswer {
  const { raw_prompt: rawPrompt, instructions } = validated(bodySchema, body, 'body');
  const identity = hash('sha256', JSON.stringify([userId, rawPrompt, instructions]));
  const sections = [section('Task', rawPrompt), section('Instructions', instructions)];
  const prompt = sections.filter((text) => text !== undefined).join('\n');
  return {
    status: 200,
    body: { user_id: userId, prompt_id: `prompt_${identity.slice(0, idLength)}`, prompt },
  };
}

function section(heading: string, text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === '' ? undefined : `# ${heading}\n\n${trimmed}\n`;
}
