// @module-tag long
import * as fc from 'fast-check';
import { request as requestHttp } from 'node:http';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { ask, startedSandbox } from './support.ts';
import { anyText } from '../support/any-text.ts';

const subscription = '/v1/public/webhook/subscription';
const tools = '/v2/ai-agents/agent_demonstration/custom-tools';

/** Correct bodies, to make bodies from that are wrong in only one place. */
const right = {
  subscription: {
    name: 'calls',
    url: 'http://127.0.0.1:1/',
    active: true,
    enable_signed_webhooks: true,
    description: 'd',
    events: ['*'],
    headers: { a: 'b' },
    agent_ids: ['agent_demonstration'],
  },
  tool: {
    openai_tool: {
      name: 'find',
      description: 'd',
      parameters: {
        type: 'object',
        properties: { a: { type: 'string', description: 'd' } },
        required: ['a'],
      },
    },
    additional_tool_info: {
      tool_type: 'custom',
      api: { endpoint: 'http://127.0.0.1:1/', method: 'POST', headers: {}, parameters: { fixed_params: {} } },
    },
    tool_id: 'tool_1',
  },
  prompt: { raw_prompt: 'p', instructions: 'i' },
  plan: { scenario: 'failed', duration: '1s' },
  failures: { operation: 'calls', count: 0 },
  toolCall: { agentId: 'agent_demonstration', toolId: 'tool_1', args: { a: 'b' } },
};

/** The operations; `*` is replaced with anything. */
const operations: readonly { readonly line: string; readonly body?: object }[] = [
  { line: 'GET /api/v1/knowledge-bases/*' },
  { line: 'GET /api/v1/knowledge-bases/documents/website/sitemaps' },
  { line: `GET ${tools}` },
  { line: `POST ${tools}/`, body: right.tool },
  { line: 'POST /v2/ai-agents/*/custom-tools', body: right.tool },
  { line: `GET ${tools}/*` },
  { line: `PUT ${tools}/*`, body: right.tool },
  { line: `DELETE ${tools}/*` },
  { line: 'POST /v1/prompt-generation/prompt/generate', body: right.prompt },
  { line: `POST ${subscription}`, body: right.subscription },
  { line: 'GET /v1/public/webhook/subscriptions' },
  { line: `GET ${subscription}/*` },
  { line: `PUT ${subscription}/*`, body: right.subscription },
  { line: `DELETE ${subscription}/*` },
  { line: `POST ${subscription}/*/rotate/secret` },
  { line: 'GET /v1/calls/*' },
  { line: 'GET /v2/ai-agents/*/postcall-analysis/results/*' },
  { line: 'POST /sandbox/calls', body: right.plan },
  { line: 'GET /sandbox/attempts' },
  { line: 'GET /sandbox/deliveries' },
  { line: 'POST /sandbox/failures', body: right.failures },
  { line: 'POST /sandbox/tools/call', body: right.toolCall },
  { line: 'PATCH /v1/calls/*' },
  { line: 'OPTIONS /*' },
  { line: 'GET /*' },
];

const anyJson = fc.oneof(fc.jsonValue(), fc.constant(null), anyText);

function bodiesFor(rightBody: object = {}): fc.Arbitrary<string | Uint8Array> {
  const wrongField = fc
    .tuple(fc.constantFrom('unknown', ...Object.keys(rightBody)), anyJson)
    .map(([field, value]) => JSON.stringify({ ...rightBody, [field]: value }));
  return fc.oneof(
    { weight: 4, arbitrary: wrongField },
    { weight: 1, arbitrary: fc.constant(JSON.stringify(rightBody)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
    { weight: 1, arbitrary: fc.constant('') },
  );
}

const visible = fc.stringMatching(/^[!-~]{0,20}$/);
const segment = fc.oneof(
  fc.constantFrom('agent_demonstration', 'kb_demonstration', 'tool_1'),
  anyText.map((text) => encodeURIComponent(text.toWellFormed())),
  visible.map((text) => text.replaceAll(/[#?]/g, '')),
);
const someQuery = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom('page_size', 'page_token', 'url', 'callId', '__proto__'), segment),
    fc.oneof(fc.constantFrom('1', '100', 'http://127.0.0.1:1'), segment),
  ),
  { maxLength: 3 },
);
const someHeaders = fc.record(
  {
    'content-type': fc.oneof(fc.constantFrom('text/plain', 'application/json; charset=utf-16'), visible),
    'content-encoding': fc.oneof(fc.constantFrom('gzip', 'identity'), visible),
    expect: visible,
    authorization: visible,
    'x-organization-id': visible,
  },
  { requiredKeys: [] },
);
const someRequest = fc.constantFrom(...operations).chain(({ line, body }) =>
  fc.record({
    line: fc.constant(line),
    segments: fc.tuple(segment, segment),
    query: someQuery,
    headers: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: someHeaders }),
    body: bodiesFor(body),
  }),
);

test('whatever is sent is answered with one of the error bodies of the document, and never with a 500', async () => {
  // At this speed a call is played at once.
  const sandbox = await startedSandbox({ speed: 1_000_000 });
  const property = fc.asyncProperty(someRequest, async ({ line, segments, query, headers, body }) => {
    const [method = '', pattern = ''] = line.split(' ');
    const path = segments.reduce((rest, text) => rest.replace('*', () => text), pattern);
    const search = query.map(([name, value]) => `${name}=${value}`).join('&');
    const answer = await send(sandbox, { method, path: `${path}?${search}`, headers, body });
    expect(answer.status).toBeLessThan(500);
    if (answer.status >= 400) expect(formOf(answer)).not.toBe('none of the document');
  });
  await fc.assert(property, { numRuns: 1_500 });
});

test.each(operations.filter(({ body }) => body !== undefined && !('args' in body)))(
  'what the wrong ones are made from is taken: $line',
  async ({ line, body }) => {
    const sandbox = await startedSandbox({ speed: 1_000_000 });
    await ask(sandbox, `POST ${tools}`, { body: right.tool });
    const { json } = await ask(sandbox, `POST ${subscription}`, {
      body: { ...right.subscription, name: 'other' },
    });
    const { id } = json as { id: string };
    const isTool = line.includes('custom-tools');
    const existing = line.startsWith('PUT') ? (isTool ? 'tool_1' : id) : 'agent_demonstration';
    const renamed = line.startsWith('POST') && isTool ? { ...body, tool_id: 'tool_2' } : body;
    const { status } = await ask(sandbox, line.replace('*', existing), { body: renamed });
    expect([200, 201]).toContain(status);
  },
);

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Which of the document's error bodies an answer has. */
function formOf({ status, text }: Answer): string {
  const body = JSON.parse(text) as Record<string, unknown>;
  const fields = Object.keys(body).sort().join();
  const isText = (field: string) => typeof body[field] === 'string';
  if (fields === 'error,message' && isText('error') && isText('message')) return 'error and message';
  if (status === 401 && fields === 'error,message,traceId' && body['error'] === 'Authentication')
    return fields;
  if (status === 422 && fields === 'detail' && isIssues(body['detail'])) return 'HTTPValidationError';
  const isSubscriptionError =
    fields === 'details,message,path,status,timestamp,trace_id,type' && body['status'] === status;
  return isSubscriptionError ? 'subscription' : 'none of the document';
}

function isIssues(detail: unknown): boolean {
  return (
    Array.isArray(detail) &&
    detail.length > 0 &&
    detail.every(
      ({ loc, msg, type }) => Array.isArray(loc) && typeof msg === 'string' && typeof type === 'string',
    )
  );
}

/** Sends a request without `fetch`, which would correct a wrong path and refuse some headers. */
function send(
  sandbox: Sandbox,
  parts: { method: string; path: string; headers: object; body: string | Uint8Array },
): Promise<Answer> {
  const { method, path, headers, body } = parts;
  return new Promise((resolve, reject) => {
    const sent = requestHttp(sandbox.url, {
      method,
      path,
      headers: {
        authorization: `Bearer ${sandbox.apiKey}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(body);
  });
}
