import type { z } from 'zod';
import { jsonIn } from '../../kit/http-bodies.ts';
import type { PlatformLogger, ResolvedPlatformOptions } from '../options.ts';
import { notJson, refusalOf } from './answer-error.ts';
import { type PlatformError, type Redact, redacting } from './platform-error.ts';
import type { Answer, AnsweredBody, PlatformRequest } from './request.ts';
import { afterAttempts, wait, waitBefore } from './retry.ts';
import { sendOnce } from './send-once.ts';
import { inShape } from './shapes.ts';

/** Sends the operations' requests to the platform, retries them if that may help, and reads the answers. */
export class Connection {
  readonly #options: ResolvedPlatformOptions;

  constructor(options: ResolvedPlatformOptions) {
    this.#options = options;
  }

  get clock(): ResolvedPlatformOptions['clock'] {
    return this.#options.clock;
  }

  get logger(): PlatformLogger {
    return this.#options.logger;
  }

  /** The answer's body in the given shape. @throws PlatformError, or the signal's reason */
  async send<Shape extends z.ZodType>(request: PlatformRequest, shape: Shape): Promise<z.output<Shape>> {
    return (await this.sendForStatus(request, shape)).body;
  }

  /** Like `send`, with the answer's status as well. */
  async sendForStatus<Shape extends z.ZodType>(
    request: PlatformRequest,
    shape: Shape,
  ): Promise<AnsweredBody<z.output<Shape>>> {
    const answer = await this.#answerTo(request);
    const body = jsonIn(answer.text ?? '');
    if (body === undefined) throw notJson(request, answer, this.#redactFor(request));
    const { status } = answer;
    return { status, body: inShape(shape, body, request, status) };
  }

  async sendForNothing(request: PlatformRequest): Promise<void> {
    await this.#answerTo(request);
  }

  async #answerTo(request: PlatformRequest): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      request.signal?.throwIfAborted();
      try {
        return await this.#attempt(request);
      } catch (error) {
        const delay = waitBefore(request, error, attempt, this.#options);
        if (delay === undefined) throw afterAttempts(error, attempt);
        this.#report(request, error, attempt, delay);
        await wait(this.clock, delay, request.signal);
      }
    }
  }

  async #attempt(request: PlatformRequest): Promise<Answer> {
    const redact = this.#redactFor(request);
    const answer = await sendOnce(request, this.#options, redact);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw refusalOf(request, answer, redact, this.clock.now());
  }

  #redactFor({ confidential = [] }: PlatformRequest): Redact {
    return redacting([this.#options.apiKey, ...confidential]);
  }

  #report({ operation }: PlatformRequest, error: unknown, attempt: number, delay: number): void {
    const { status, code } = error as PlatformError;
    this.logger.debug({ operation, attempt, status, code, delay }, 'a request will be tried again');
  }
}
