import { hash } from 'node:crypto';

/** What a prompt is made from, and for whom. */
export interface PromptRequest {
  readonly userId: string;
  readonly rawPrompt: string;
  readonly instructions: string;
}

/** A generated prompt as the platform answers it (platform document, GeneratedPrompt). */
export interface GeneratedPrompt {
  readonly user_id: string;
  readonly prompt_id: string;
  readonly prompt: string;
}

/** Half of a SHA-256, in hexadecimal digits: enough that no two requests share an id. */
const idLength = 32;

/**
 * Puts the raw prompt and the instructions under two headings. No model is used: the same request by the same user
 * always gives the same prompt with the same id, so that tests of a client are reproducible.
 *
 * @example generatePrompt({ userId: 'user_1', rawPrompt: 'Book tables.', instructions: '' }).prompt // '# Task\n\nBook tables.\n'
 */
export function generatePrompt({ userId, rawPrompt, instructions }: PromptRequest): GeneratedPrompt {
  const identity = hash('sha256', JSON.stringify([userId, rawPrompt, instructions]));
  const sections = [section('Task', rawPrompt), section('Instructions', instructions)];
  return {
    user_id: userId,
    prompt_id: `prompt_${identity.slice(0, idLength)}`,
    prompt: sections.filter((text) => text !== undefined).join('\n'),
  };
}

function section(heading: string, text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === '' ? undefined : `# ${heading}\n\n${trimmed}\n`;
}
