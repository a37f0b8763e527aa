import { z } from 'zod';
import { generatePrompt } from '../prompts/generate-prompt.ts';
import type { Route } from './route.ts';
import { validated } from './validation.ts';

const bodySchema = z.object({
  raw_prompt: z.string('Should be text').regex(/\S/, 'Should not be blank'),
  instructions: z.string('Should be text').default(''),
});

/** Prompt generation (platform document, POST generate). The status 200 and the required fields are our choice. */
export function promptRoutes(): readonly Route[] {
  return [
    {
      operation: 'prompts.generate',
      method: 'POST',
      path: '/v1/prompt-generation/prompt/generate',
      errors: 'general',
      handle: ({ caller, body }) => {
        const { raw_prompt: rawPrompt, instructions } = validated(bodySchema, body, 'body');
        return { status: 200, body: generatePrompt({ userId: caller.userId, rawPrompt, instructions }) };
      },
    },
  ];
}
