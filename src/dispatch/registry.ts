import { configError } from '../errors/errors.ts';
import { describe } from '../errors/option-problems.ts';
import type { Handler } from './handler.ts';
import { SharedBytes } from '../kit/limiters.ts';
import { HandlerLanes } from './lanes.ts';
import {
  type HandlerOptions,
  type JoinOptions,
  type ResolvedHandlerOptions,
  resolveHandlerOptions,
  resolveJoinOptions,
  shortDurationsOfHandler,
} from '../receiver/handler-options.ts';
import type { CallEvent } from '../events/model.ts';
import { isKnownEventName, matches, meantName } from '../events/names.ts';
import { defined, isStorable } from '../kit/values.ts';
import type { ResolvedOptions } from '../receiver/options.ts';
import type { ShortDuration } from '../receiver/short-durations.ts';

/** How many bytes the bodies of all runs in memory may have: a backlog of large bodies must not fill the memory. */
const maxBytes = 32 * 1024 * 1024;

/** The name under which the fallback's runs are stored. */
const fallbackName = 'fallback';

/** The longest name of a handler, in bytes: a key in Postgres has room for that and the longest id of a call. */
const maxName = 512;

/** The handlers of a receiver. Refuses a second handler with the same name, and any handler after start. */
export class Registry {
  readonly #defaults: Pick<ResolvedOptions, 'timeout' | 'retry' | 'concurrency'>;
  readonly #isStrict: boolean;
  /** All handlers except the fallback. */
  readonly #handlers: Handler[] = [];
  readonly #lanes: HandlerLanes[] = [];
  readonly #lanesByName = new Map<string, HandlerLanes>();
  /** The lanes of every handler, the fallback included. */
  readonly lanes: readonly HandlerLanes[] = this.#lanes;
  /** The same lanes by the names of their handlers. */
  readonly lanesByName: ReadonlyMap<string, HandlerLanes> = this.#lanesByName;
  readonly #memory = new SharedBytes(maxBytes);
  readonly #shortDurations: (ShortDuration & { readonly handler: string })[] = [];
  #fallback: Handler | undefined;
  #isClosed = false;

  constructor(options: Pick<ResolvedOptions, 'timeout' | 'retry' | 'concurrency' | 'strictNames'>) {
    this.#defaults = options;
    this.#isStrict = options.strictNames;
  }

  /** All handlers, the fallback included. */
  get all(): readonly Handler[] {
    return this.#lanes.map(({ handler }) => handler);
  }

  add(names: readonly string[], options: HandlerOptions, handle: Handler['handle']): void {
    // A copy, because the caller may change the list later, and `every` would skip the holes of a sparse one.
    const patterns: readonly string[] = Array.isArray(names) ? Array.from(names) : [];
    if (
      patterns.length === 0 ||
      !patterns.every((pattern) => typeof pattern === 'string' && pattern !== '')
    ) {
      throw configError('handler_invalid', {
        method: 'on',
        found: describeNames(names),
      });
    }
    for (const pattern of patterns) requirePattern(pattern);
    requireFunction('on', handle);
    const resolved = resolveHandlerOptions(options);
    this.#requireKnown('on', patterns);
    this.#handlers.push(this.#register(this.#build(patterns, resolved, handle), options));
  }

  addJoin(options: JoinOptions, handle: Handler['handle']): void {
    requireFunction('onCall', handle);
    const { events, within, late, ...rest } = resolveJoinOptions(options);
    this.#requireKnown('onCall', events);
    const join = { events, within, runsAgain: late === 'run-again' };
    const handler = { ...this.#build(events, { ...rest, order: 'call' }, handle), join };
    this.#handlers.push(this.#register(Object.freeze(handler), options));
  }

  setFallback(handle: Handler['handle']): void {
    requireFunction('fallback', handle);
    if (this.#fallback) throw configError('fallback_duplicate');
    this.#fallback = this.#register(this.#build([], resolveHandlerOptions({ name: fallbackName }), handle));
  }

  /** Unknown names that are close to a known event's: probably misspelled. */
  get misspelled(): readonly {
    readonly handler: string;
    readonly eventName: string;
    readonly meant: string;
  }[] {
    return this.#handlers.flatMap(({ name: handler, patterns }) =>
      patterns.flatMap((eventName) => {
        const meant = meantName(eventName);
        return meant === undefined ? [] : [{ handler, eventName, meant }];
      }),
    );
  }

  /** Durations of handlers that were probably meant as seconds. */
  get shortDurations(): readonly (ShortDuration & { readonly handler: string })[] {
    return this.#shortDurations;
  }

  /**
   * The handlers that an event goes to. A known event whose payload is not what its name promises goes to the fallback
   * instead, because typed handlers must be able to rely on their types. An event that no handler takes goes to the
   * fallback too. Joins get incomplete events as well: they need only an event's name and call.
   */
  route({ eventName, callId, issues }: CallEvent): readonly Handler[] {
    const hasPromised = issues.length === 0 || !isKnownEventName(eventName);
    const matching = this.#handlers.filter(({ join, patterns }) =>
      join
        ? callId !== undefined && join.events.includes(eventName)
        : hasPromised && patterns.some((pattern) => matches(pattern, eventName)),
    );
    if (hasPromised && matching.length > 0) return matching;
    return this.#fallback ? [...matching, this.#fallback] : matching;
  }

  /** From now on nothing can be registered. */
  close(): void {
    this.#isClosed = true;
  }

  /** With `strictNames`, refuses a name that is probably misspelled: its events would never come. */
  #requireKnown(method: 'on' | 'onCall', patterns: readonly string[]): void {
    if (!this.#isStrict) return;
    for (const eventName of patterns) {
      const meant = meantName(eventName);
      if (meant !== undefined) throw configError('event_name_unknown', { method, eventName, meant });
    }
  }

  #register(handler: Handler, options: HandlerOptions | JoinOptions = {}): Handler {
    const { name } = handler;
    requireStorableName(handler);
    if (this.#isClosed) throw configError('handler_too_late', { name });
    if (this.#lanesByName.has(name)) throw configError('handler_duplicate', { name });
    const lanes = new HandlerLanes(handler, this.#memory);
    this.#lanes.push(lanes);
    this.#lanesByName.set(name, lanes);
    this.#shortDurations.push(
      ...shortDurationsOfHandler(options).map((short) => ({ ...short, handler: name })),
    );
    return handler;
  }

  #build(patterns: readonly string[], resolved: ResolvedHandlerOptions, handle: Handler['handle']): Handler {
    return Object.freeze({
      name: resolved.name ?? patterns.join(','),
      patterns,
      join: undefined,
      timeout: resolved.timeout ?? this.#defaults.timeout,
      retry: { ...this.#defaults.retry, ...defined(resolved.retry ?? {}) },
      order: resolved.order,
      concurrency: resolved.concurrency ?? this.#defaults.concurrency,
      rate: resolved.rate,
      handle,
    });
  }
}

function requireFunction(method: 'on' | 'onCall' | 'fallback', handle: unknown): void {
  if (typeof handle === 'function') return;
  const found = handle === undefined ? 'no function' : `a handler of type ${typeof handle}`;
  throw configError('handler_invalid', { method, found });
}

/** Refuses a name that can't be stored as it is: its runs could not be stored, and their events would never be done. */
function requireStorableName({ name, join }: Handler): void {
  if (isStorable(name) && Buffer.byteLength(name) <= maxName) return;
  const byDefault = join ? '' : 'The default is the names of the events, joined by commas: ';
  throw configError('option_invalid', {
    option: `name in receiver.${join ? 'onCall' : 'on'}`,
    expected: `a text of at most ${maxName} bytes, without U+0000 or half a surrogate pair`,
    found: describe(name),
    fix: `${byDefault}${join ? 'Set' : 'set'} a shorter name.`,
  });
}

/** Refuses any other use of `*`: such a pattern would match nothing, and nobody would notice. */
function requirePattern(pattern: string): void {
  if (!pattern.includes('*') || pattern === '*' || /^[^*]+\.\*$/.test(pattern)) return;
  throw configError('handler_invalid', {
    method: 'on',
    found: `the pattern ${JSON.stringify(pattern)}`,
    fix: "Patterns are '*' for every event and 'Service.*' for all events of a service, such as 'CallHandler.*'.",
  });
}

/** What was given in place of names, without quoting it: it may be anything. */
function describeNames(names: unknown): string {
  if (!Array.isArray(names)) return `names of type ${names === null ? 'null' : typeof names}`;
  if (names.length === 0) return 'an empty list of names';
  const wrong: unknown = names.find((name) => typeof name !== 'string');
  return wrong === undefined && !names.includes(undefined)
    ? 'an empty name'
    : `a name of type ${wrong === null ? 'null' : typeof wrong}`;
}
