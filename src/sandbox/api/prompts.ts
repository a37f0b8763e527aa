import { hash } from 'node:crypto';
import { z } from 'zod';
import type { PromptGenerator } from '../prompts.ts';
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
