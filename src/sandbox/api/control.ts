import { z } from 'zod';
import { RingbackError } from '../../errors/errors.ts';
import type { CallPlan } from '../calls/call-plan.ts';
import type { CallSimulator } from '../calls/simulator.ts';
import type { ToolCaller } from '../custom-tools/tool-caller.ts';
import { type Attempts, attemptQuerySchema } from '../delivery/attempts.ts';
import type { Outbox } from '../delivery/outbox.ts';
import type { Failures } from '../failures.ts';
import type { Caller } from '../model.ts';
import type { Subscriptions } from '../subscriptions/subscriptions.ts';
import { validated } from './request.ts';
import { type ApiAnswer, ApiError, type ApiRequest, type Route, routesOf } from './route.ts';

export interface ControlParts {
  readonly calls: CallSimulator;
  readonly attempts: Attempts;
  readonly outbox: Outbox;
  readonly subscriptions: Subscriptions;
  readonly failures: Failures;
  readonly toolCaller: ToolCaller;
}

const object = z.record(z.string(), z.unknown(), 'Should be an object');
const failureSchema = z.strictObject(
  { operation: z.string('Should be text'), count: z.number('Should be a number'), how: object.optional() },
  'Should be an object',
);
const toolCallSchema = z.object(
  { agentId: z.string('Should be text'), toolId: z.string('Should be text'), args: object.default({}) },
  'Should be an object',
);

/**
 * The sandbox's own controls over HTTP, which the platform doesn't have. They correspond to the TypeScript methods,
 * with the same fields. Calls, attempts, deliveries and tools are limited to the key's organization.
 */
export function controlRoutes(parts: ControlParts): readonly Route[] {
  const route = routesOf('sandbox', 'general');
  return [
    route('calls', 'POST', '/sandbox/calls', (request) => playCall(request, parts)),
    route('attempts', 'GET', '/sandbox/attempts', (request) => listAttempts(request, parts)),
    route('deliveries', 'GET', '/sandbox/deliveries', (request) => listGivenUp(request, parts)),
    route('failures', 'POST', '/sandbox/failures', (request) => failNext(request, parts)),
    route('tools/call', 'POST', '/sandbox/tools/call', (request) => callTool(request, parts)),
  ];
}

async function playCall({ body, caller }: ApiRequest, { calls }: ControlParts): Promise<ApiAnswer> {
  const plan = validated(object, body ?? {}, 'body');
  const own: CallPlan = { ...plan, organizationId: caller.organizationId };
  return { status: 200, body: await orInvalid(() => calls.play(own)) };
}

function listAttempts({ query, caller }: ApiRequest, { attempts, subscriptions }: ControlParts): ApiAnswer {
  const wanted = validated(attemptQuerySchema, query, 'query', 'Should be ');
  return { status: 200, body: { attempts: attempts.list(wanted).filter(ownedBy(caller, subscriptions)) } };
}

function listGivenUp({ caller }: ApiRequest, { outbox, subscriptions }: ControlParts): ApiAnswer {
  return { status: 200, body: { givenUp: outbox.givenUp().filter(ownedBy(caller, subscriptions)) } };
}

async function failNext({ body }: ApiRequest, { failures }: ControlParts): Promise<ApiAnswer> {
  const wanted = validated(failureSchema, body, 'body');
  await orInvalid(() => failures.failNext(wanted.operation, wanted.count, wanted.how));
  return { status: 200, body: wanted };
}

async function callTool({ body, caller }: ApiRequest, { toolCaller }: ControlParts): Promise<ApiAnswer> {
  const call = validated(toolCallSchema, body, 'body');
  return { status: 200, body: await orInvalid(() => toolCaller.call(call, caller.organizationId)) };
}

/** Calls a method, and converts its RingbackError, which is about the arguments, to an error in the request's body. */
async function orInvalid<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RingbackError)) throw error;
    const issue = { loc: ['body'], msg: error.message, type: error.code };
    throw new ApiError('invalid', error.message, [issue]);
  }
}

function ownedBy({ organizationId }: Caller, subscriptions: Subscriptions) {
  const known = new Map<string, boolean>();
  return ({ subscriptionId: id }: { readonly subscriptionId: string }): boolean => {
    const isOwn = known.get(id) ?? subscriptions.find(id)?.organizationId === organizationId;
    known.set(id, isOwn);
    return isOwn;
  };
}
