import { z } from 'zod';
import { parseStrictly } from '../../errors/option-problems.ts';
import { type CallOptions, readCallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';

/** The input of a prompt generation (platform document, POST prompt generation). */
export interface PromptRequest {
  readonly raw_prompt: string;
  /** @default '' */
  readonly instructions?: string | undefined;
}

/** A generated prompt (platform document, GeneratedPrompt). */
export interface GeneratedPrompt {
  readonly user_id: string;
  readonly prompt_id: string;
  readonly prompt: string;
  readonly [field: string]: unknown;
}

const requestSchema = z.strictObject({
  raw_prompt: z.string('text'),
  instructions: z.string('text').default(''),
});
const generatedShape = z.looseObject({
  user_id: z.string(),
  prompt_id: z.string(),
  prompt: z.string(),
}) satisfies z.ZodType<GeneratedPrompt>;

/** Prompts for agents. */
export class Prompts {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Generates a prompt from a raw one. It may take longer than other operations: set `timeout` accordingly.
   *
   * @throws ConfigError; PlatformError, for example 422
   * @example const { prompt } = await platform.prompts.generate({ raw_prompt: 'You sell bicycles.' });
   */
  async generate(request: PromptRequest, options: CallOptions = {}): Promise<GeneratedPrompt> {
    const operation = 'prompts.generate';
    const body = parseStrictly(requestSchema, request, operation, 'request');
    const { signal } = readCallOptions(options, operation);
    const path = '/v1/prompt-generation/prompt/generate';
    return this.#connection.send({ operation, method: 'POST', path, body, signal }, generatedShape);
  }
}
