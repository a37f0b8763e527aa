/** Talks to a sandbox as any client would, with plain `fetch`: nothing here uses the client of `ringback/platform`. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/kit/clock.ts';
import { type Sandbox, type SandboxOptions, createSandbox } from '../../src/sandbox/index.ts';

/** The path where subscriptions are created. */
export const subscriptionPath = '/v1/public/webhook/subscription';

/** The fields of a signed, paused subscription. */
export const subscription = {
  name: 'calls',
  url: 'https://calls.example.com/webhooks',
  active: false,
  enable_signed_webhooks: true,
  headers: { 'X-Shop': '7' },
};

/**
 * The machine's time, except that a timer of a second or more is not due before a test has ended. The deadline of an
 * attempt is a second, which a busy machine may need; whatever else these tests wait for takes less at their speeds.
 */
export const clockWithoutDeadlines: Clock = {
  ...systemClock,
  after: (ms, action) => systemClock.after(ms < 1_000 ? ms : 86_400_000, action),
};

/** A sandbox that listens on a free port until the test ends. No attempt times out unless a clock is given. */
export async function startedSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = createSandbox({ clock: clockWithoutDeadlines, ...options });
  onTestFinished(() => sandbox.stop());
  await sandbox.start();
  return sandbox;
}

/** Has one sandbox for all tests of a file or a group, as `startedSandbox` has one for a test. Call it at the top of either. */
export function sandboxForTests(): () => Sandbox {
  const sandbox = createSandbox({ clock: clockWithoutDeadlines });
  beforeAll(() => sandbox.start());
  afterAll(() => sandbox.stop());
  return () => sandbox;
}

/** An answer of the sandbox. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when there was none. */
  readonly json: unknown;
}

/** How a request differs from the ordinary one. */
export interface RequestParts {
  /** The API key; null for none. @default the key of the demonstration organization */
  readonly key?: string | null;
  /** Sent as JSON, unless it is text or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request to a sandbox, such as `ask(sandbox, 'GET /v1/calls/call_1')`. */
export async function ask(sandbox: Sandbox, line: string, parts: RequestParts = {}): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ', 2);
  const { key = sandbox.apiKey ?? null, body, headers } = parts;
  const response = await fetch(`${sandbox.url}${path}`, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, text, json };
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array;
}
