import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { ConfigError } from '../../src/index.ts';
import {
  type Tool,
  ToolError,
  type ToolMiddlewareOptions,
  defineTool,
  toolMiddleware,
} from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';
import { listening } from '../support/servers.ts';

const headers = { 'x-tool-key': 'the key of the tools' };
const failed = { status: 500, json: { error: 'That did not work just now.' } };

/** A tool with this `run`, which takes a number. */
const doing = (run: Parameters<typeof defineTool>[0]['run']): Tool =>
  defineTool({
    name: 'doing',
    description: 'Does it.',
    parameters: z.object({ count: z.number().optional().describe('How many') }),
    run,
  });

/** The answer to a call of the tool. */
async function called(tool: Tool, body = '{}', options: Partial<ToolMiddlewareOptions> = {}) {
  const url = `http://127.0.0.1:${await listening(toolMiddleware([tool], { headers, ...options }))}`;
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, json: await response.json() };
}

/** An error with an unusual property. */
function odd(property: string, descriptor: PropertyDescriptor): Error {
  return Object.defineProperty(new ToolError('odd'), property, descriptor);
}

function boom(): never {
  throw new Error('boom');
}

describe('a call is answered whatever the tool throws', () => {
  test.each<[string, unknown]>([
    [
      'an error whose name is a symbol',
      Object.defineProperty(new Error('a'), 'name', { value: Symbol('name') }),
    ],
    ['an error whose message cannot be read', odd('message', { get: boom })],
    ['an error whose message JSON cannot write', odd('message', { value: 1n })],
    ['something whose class cannot be determined', new Proxy({}, { getPrototypeOf: boom })],
  ])('%s', async (_what, thrown) => {
    const run = () => {
      throw thrown;
    };
    expect(await called(doing(run))).toEqual(failed);
  });

  test('a call is answered when the logger throws', async () => {
    const logger = untyped({ info: boom, warn: boom });
    expect(
      await called(
        doing(() => 1),
        '{}',
        { logger },
      ),
    ).toEqual(failed);
  });
});

describe('malicious arguments', () => {
  it('are refused in a time that grows with their length, not with its square', async () => {
    // A reader whose time grows with the square of the number of digits would take minutes.
    const count = `${'1'.repeat(900_000)}x`;
    const { json } = await called(
      doing(() => 1),
      JSON.stringify({ count }),
    );
    expect(json).toEqual({ error: expect.stringContaining('count (How many) is not right') });
  });

  it('become the prototype of nothing that they are copied into', async () => {
    const tool = doing((_args, { additional }) => Object.assign({}, additional));
    const { json } = await called(tool, '{"__proto__":{"isAdmin":true},"constructor":1}');
    expect(json).toEqual({ constructor: 1 });
  });

  it('are reported when they are named like properties of every object', async () => {
    const parameters = z.object({ name: z.string().describe('Who') }).catchall(z.string());
    const tool = defineTool({ name: 'greet', description: 'Greets.', parameters, run: () => 1 });
    const { json } = await called(tool, '{"name":"Ada","constructor":5}');
    expect(json).toEqual({ error: expect.stringContaining('constructor is not right') });
  });
});

test.each([{ 'Content-Type': 'application/json' }, { host: 'calls.example.com', accept: '*/*' }])(
  'headers that any client sends, such as %j, are not enough to tell the platform by',
  (ordinary) => {
    const make = (more = {}) => toolMiddleware([doing(() => 1)], { headers: { ...ordinary, ...more } });
    expect(make).toThrow(ConfigError);
    expect(() => make(headers)).not.toThrow();
  },
);
