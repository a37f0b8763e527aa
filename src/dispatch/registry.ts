import { configError } from '../errors.ts';
import type { Handler, RetryPolicy } from '../handling.ts';
import {
  type HandlerOptions,
  type JoinOptions,
  type ResolvedHandlerOptions,
  type ResolvedOptions,
  resolveHandlerOptions,
  resolveJoinOptions,
} from '../options.ts';

/** The name under which the fallback's runs are remembered. */
const fallbackName = 'fallback';

/** The handlers of a receiver, guarded: no second one of a name, none after start. */
export class Registry {
  readonly #defaults: Pick<ResolvedOptions, 'timeout' | 'retry' | 'concurrency'>;
  readonly #handlers: Handler[] = [];
  #fallback: Handler | undefined;
  #isClosed = false;

  constructor(defaults: Pick<ResolvedOptions, 'timeout' | 'retry' | 'concurrency'>) {
    this.#defaults = defaults;
  }

  get handlers(): readonly Handler[] {
    return this.#handlers;
  }

  get fallback(): Handler | undefined {
    return this.#fallback;
  }

  /** All handlers, the fallback included. */
  get all(): readonly Handler[] {
    return this.#fallback ? [...this.#handlers, this.#fallback] : this.#handlers;
  }

  add(patterns: readonly string[], options: HandlerOptions, handle: Handler['handle']): void {
    if (
      !Array.isArray(patterns) ||
      patterns.length === 0 ||
      !patterns.every((pattern) => typeof pattern === 'string' && pattern !== '')
    ) {
      throw configError('handler_invalid', { found: 'names that are not a text or a list of texts' });
    }
    if (typeof handle !== 'function')
      throw configError('handler_invalid', { found: `a handler of type ${typeof handle}` });
    const handler = this.#build(patterns, resolveHandlerOptions(options), handle);
    this.#guard(handler.name);
    this.#handlers.push(handler);
  }

  addJoin(options: JoinOptions, handle: Handler['handle']): void {
    if (typeof handle !== 'function') {
      throw configError('handler_invalid', { found: `a join's handler of type ${typeof handle}` });
    }
    const { events, within, late, ...rest } = resolveJoinOptions(options);
    const join = { events, within, runsAgain: late === 'run-again' };
    const handler = { ...this.#build(events, { ...rest, order: 'call' }, handle), join };
    this.#guard(handler.name);
    this.#handlers.push(Object.freeze(handler));
  }

  setFallback(handle: Handler['handle']): void {
    if (typeof handle !== 'function')
      throw configError('handler_invalid', { found: `a fallback of type ${typeof handle}` });
    if (this.#fallback) throw configError('fallback_duplicate');
    this.#guard(fallbackName);
    this.#fallback = {
      ...this.#build([], resolveHandlerOptions({ name: fallbackName }), handle),
      isFallback: true,
    };
  }

  /** From now on nothing can be registered. */
  close(): void {
    this.#isClosed = true;
  }

  #guard(name: string): void {
    if (this.#isClosed) throw configError('handler_too_late', { name });
    if (this.all.some((handler) => handler.name === name)) throw configError('handler_duplicate', { name });
  }

  #build(patterns: readonly string[], resolved: ResolvedHandlerOptions, handle: Handler['handle']): Handler {
    return Object.freeze({
      name: resolved.name ?? patterns.join(','),
      patterns,
      isFallback: false,
      join: undefined,
      timeout: resolved.timeout ?? this.#defaults.timeout,
      retry: { ...this.#defaults.retry, ...defined(resolved.retry ?? {}) },
      order: resolved.order,
      concurrency: resolved.concurrency ?? this.#defaults.concurrency,
      handle,
    });
  }
}

function defined(retry: { [Key in keyof RetryPolicy]?: RetryPolicy[Key] | undefined }): Partial<RetryPolicy> {
  return Object.fromEntries(Object.entries(retry).filter(([, value]) => value !== undefined));
}
