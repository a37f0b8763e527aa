import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Clock } from '../../src/kit/clock.ts';
import {
  type Platform,
  PlatformError,
  type PlatformOptions,
  createPlatform,
} from '../../src/platform/index.ts';
import { freePort } from '../support/free-port.ts';
import { listening } from '../support/servers.ts';
import type { Sandbox, SandboxOptions, Seed } from '../../src/sandbox/index.ts';
import { startedSandbox } from '../sandbox/support.ts';

/** The key of the organization that most tests work for, and that of another one. */
export const apiKey = 'key-of-ada-0123456789';
export const otherKey = 'key-of-cleo-0123456789';

const seed: Seed = {
  organizations: [
    {
      id: 'org_1',
      name: 'One',
      users: [{ id: 'user_1', name: 'Ada', keys: [apiKey] }],
      workspaces: [{ id: 'workspace_1', name: 'Support' }],
      agents: [{ id: 'agent_1', name: 'Reception', workspace_id: 'workspace_1' }],
      knowledge_bases: [
        { id: 'kb_1', name: 'Handbook', description: 'All of it' },
        { id: 'kb_2', name: 'Prices', embedding_model: 'text-embedding-3-large' },
      ],
    },
    { id: 'org_2', name: 'Two', users: [{ id: 'user_2', name: 'Cleo', keys: [otherKey] }] },
  ],
};

/** A sandbox with two organizations that runs until the test ends, and a client of the first. */
export async function sandboxAndPlatform(
  options: Partial<PlatformOptions> = {},
  sandboxOptions: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; platform: Platform }> {
  const sandbox = await startedSandbox({ seed, ...sandboxOptions });
  return { sandbox, platform: createPlatform({ baseUrl: sandbox.url, apiKey, ...options }) };
}

/** A request that a stand-in got. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What a stand-in answers: JSON, or text as it is. */
export interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
}

/**
 * A server for answers that the sandbox never gives. It gives the scripted answers in their order, and the last one
 * again and again; a function writes its answer itself. The requests are kept.
 */
export async function standIn(...answers: (Scripted | ((response: ServerResponse) => void))[]) {
  const received: Received[] = [];
  const port = await listening((request, response) => {
    const answer = async () => {
      const { method = '', url = '', headers } = request;
      const bytes = new Uint8Array(await buffer(request));
      received.push({ method, url, headers, body: new TextDecoder().decode(bytes), bytes });
      const scripted = answers.length > 1 ? answers.shift() : answers[0];
      if (typeof scripted === 'function') return scripted(response);
      const { status = 200, json, body = JSON.stringify(json), headers: more } = scripted ?? {};
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      response.end(status === 204 ? undefined : body);
    };
    void answer();
  });
  const url = `http://127.0.0.1:${port}`;
  return { url, received };
}

/** An answer of a stand-in that breaks the connection. */
export const reset = (response: ServerResponse) => void response.destroy();

/** An address where nobody listens. */
export async function addressOfNobody(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

/** The client's deadline of an attempt, in milliseconds: unusual, so that its timer can be told from the waits. */
const attemptTime = 86_400_000;

/** A client of a stand-in. Its waits between attempts take no time; `waits` has how long they would have been. */
export function clientOf(url: string, options: Partial<PlatformOptions> = {}) {
  const waits: number[] = [];
  let elapsed = 0;
  const clock: Clock = {
    now: () => Date.UTC(2026, 0, 1) + elapsed,
    elapsed: () => elapsed,
    after(ms, action) {
      if (ms === attemptTime) return () => {};
      waits.push(ms);
      const soon = setImmediate(() => {
        elapsed += ms;
        action();
      });
      return () => clearImmediate(soon);
    },
  };
  const platform = createPlatform({
    baseUrl: url,
    apiKey,
    timeout: attemptTime,
    random: () => 0.5,
    clock,
    ...options,
  });
  return { platform, waits };
}

/** The PlatformError that something rejects with. */
export async function platformError(promise: Promise<unknown>): Promise<PlatformError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof PlatformError) return error;
  throw new Error('It should have been refused with a PlatformError', { cause: error });
}

/** A subscription as the platform answers it, for stand-ins. */
export const answered = {
  id: 'sub_1',
  organization_id: 'org_1',
  scope: 'ORGANIZATION',
  created_user_id: 'user_1',
  name: 'calls',
  url: 'https://calls.example.com/webhooks',
  events: ['*'],
  active: true,
  request_timeout_ms: 1_000,
  retry_policy: { retryStrategy: 'FIXED_DELAY', maxRetryAttempts: 3, maxRetryDelayMs: 10_000 },
  signing_enabled: true,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
} as const;

/** A knowledge base as the platform answers it, for stand-ins: the fields that have no default. */
export const kb = {
  id: 'kb_1',
  name: 'Handbook',
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
};

/** All items of a listing. */
export async function everything<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const taken = [];
  for await (const item of items) taken.push(item);
  return taken;
}
