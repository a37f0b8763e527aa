import type { JoinedCall, RunContext } from '../dispatch/handler.ts';
import type { EventOf } from '../events/event-types.ts';
import type { CallEvent } from '../events/model.ts';
import type { EventPattern } from '../events/names.ts';
import { configError } from '../errors/errors.ts';
import type { HandlerOptions, JoinOptions } from '../receiver/handler-options.ts';
import type { FallbackContext, Receiver } from '../receiver/receiver.ts';

/** The context for a method, whatever database `ctx.commit` has: a method may declare any of them. */
type AnyDatabase<Context> = Omit<Context, 'commit'> & { readonly commit: never };

/** A decorator for methods with these parameters. The compiler refuses others. */
type HandlerDecorator<Parameters extends unknown[]> = <Method extends (...given: Parameters) => unknown>(
  prototype: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

type Handle = (...given: never[]) => unknown;
/** Registers a method once there is an instance to call it on. */
type Register = (receiver: Receiver, handle: Handle) => void;

/** The decorated methods of each class, by its prototype. */
const decorated = new WeakMap<object, Map<string | symbol, Register[]>>();

function decorator(method: 'on' | 'onCall' | 'fallback', register: Register) {
  return (prototype: object, key: string | symbol | DecoratorContext) => {
    // A standard decorator, which compilers make unless they are set to make those that Nest needs.
    if (typeof key === 'object')
      throw configError('handler_invalid', {
        method,
        found: `a decorator by the standard on ${String(key.name)}`,
        fix: 'Set experimentalDecorators in tsconfig.json, as the decorators of Nest require.',
      });
    // Only methods of instances are registered: a static one would be silently left out.
    if (typeof prototype === 'function')
      throw configError('handler_invalid', {
        method,
        found: `the static method ${String(key)}`,
        fix: 'Decorate a method of the instances.',
      });
    const methods = decorated.get(prototype) ?? new Map<string | symbol, Register[]>();
    decorated.set(prototype, methods.set(key, [...(methods.get(key) ?? []), register]));
  };
}

/**
 * Makes a method of a provider a handler, as `receiver.on` does.
 *
 * @example
 * ```ts
 * @On('CallHandler.CallEnded', { name: 'save-call' })
 * async save(event: EventOf<'CallHandler.CallEnded'>, ctx: RunContext) {}
 * ```
 */
export function On<const Names extends EventPattern | readonly EventPattern[]>(
  names: Names | readonly EventPattern[],
  options: HandlerOptions = {},
): HandlerDecorator<[event: EventOf<Names>, context: AnyDatabase<RunContext>]> {
  return decorator('on', (receiver, handle) => void receiver.on(names, options, handle as never));
}

/**
 * Makes a method of a provider a join, as `receiver.onCall` does.
 *
 * @example
 * ```ts
 * @OnCall({ name: 'save-order', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '2m' })
 * async saveOrder(call: JoinedCall, ctx: RunContext) {}
 * ```
 */
export function OnCall(
  options: JoinOptions,
): HandlerDecorator<[call: JoinedCall, context: AnyDatabase<RunContext>]> {
  return decorator('onCall', (receiver, handle) => void receiver.onCall(options, handle as never));
}

/**
 * Makes a method of a provider the fallback, as `receiver.fallback` does.
 *
 * @example
 * ```ts
 * @Fallback()
 * rest(event: CallEvent, { isKnown, log }: FallbackContext) {}
 * ```
 */
export function Fallback(): HandlerDecorator<[event: CallEvent, context: AnyDatabase<FallbackContext>]> {
  return decorator('fallback', (receiver, handle) => void receiver.fallback(handle as never));
}

/** The decorated methods of an object's class and its base classes. Those of the nearest class count. */
export function registrationsOf(instance: object): ((receiver: Receiver) => void)[] {
  const found = new Map<string | symbol, Register[]>();
  let prototype: unknown = Object.getPrototypeOf(instance);
  // Until null, not `Object.prototype`: a test runner has an Object of its own.
  for (; typeof prototype === 'object' && prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    for (const [key, registers] of decorated.get(prototype) ?? [])
      if (!found.has(key)) found.set(key, registers);
  }
  const methods = instance as Readonly<Record<string | symbol, Handle>>;
  return [...found].flatMap(([key, registers]) =>
    registers.map(
      (register) => (receiver: Receiver) => register(receiver, (...given) => methods[key]?.(...given)),
    ),
  );
}
