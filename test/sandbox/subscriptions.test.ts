import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { ask, startedSandbox } from './support.ts';
import { twoTenants } from './tenants.ts';

const path = '/v1/public/webhook/subscription';

/** The required fields, and no others. */
const least = {
  name: 'calls',
  url: 'https://calls.example.com/webhooks',
  active: true,
  enable_signed_webhooks: false,
};

const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const secretText = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/);

/** A subscription of the demonstration organization as the document describes it, with everything optional unset. */
const plain = {
  id: expect.any(String),
  organization_id: 'org_demonstration',
  scope: 'ORGANIZATION',
  created_user_id: 'user_demonstration',
  name: 'calls',
  url: 'https://calls.example.com/webhooks',
  events: [],
  active: true,
  request_timeout_ms: 1_000,
  retry_policy: { retryStrategy: 'FIXED_DELAY', maxRetryAttempts: 3, maxRetryDelayMs: 10_000 },
  signing_enabled: false,
  created_at: isoTime,
  updated_at: isoTime,
};

async function createdId(sandbox: Sandbox, body: object = least): Promise<string> {
  const { status, json } = await ask(sandbox, `POST ${path}`, { body });
  expect(status).toBe(201);
  return (json as { id: string }).id;
}

/** The document's error body for an invalid request. */
function validationError(at: string, details: Readonly<Record<string, unknown>>) {
  return {
    status: 400,
    type: 'VALIDATION_ERROR',
    message: expect.any(String),
    details,
    timestamp: isoTime,
    path: at,
    trace_id: expect.any(String),
  };
}

describe('creating a subscription', () => {
  it('answers 201 with the subscription; what is unset is absent, never null', async () => {
    const sandbox = await startedSandbox();
    const { status, json } = await ask(sandbox, `POST ${path}`, { body: least });
    expect(status).toBe(201);
    expect(json).toStrictEqual(plain);
  });

  it('keeps everything that is sent, and returns the secret once', async () => {
    const sandbox = await startedSandbox();
    const everything = {
      ...least,
      description: 'Orders',
      enable_signed_webhooks: true,
      events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
      headers: { Authorization: 'Basic abc', 'X-Shop': '7' },
      agent_ids: ['agent_demonstration'],
    };
    const { json } = await ask(sandbox, `POST ${path}`, { body: everything });
    const { enable_signed_webhooks: _signed, ...fields } = everything;
    const stored = { ...plain, ...fields, scope: 'AGENT', signing_enabled: true };
    expect(json).toStrictEqual({ ...stored, secret: secretText });
    const { id } = json as { id: string };
    expect((await ask(sandbox, `GET ${path}/${id}`)).json).toStrictEqual(stored);
  });

  it.each([
    ['agent_ids', { agent_ids: ['agent_1'] }, 'AGENT'],
    ['workspace_ids', { workspace_ids: ['workspace_1'] }, 'WORKSPACE'],
    ['neither', {}, 'ORGANIZATION'],
    ['empty lists', { agent_ids: [], workspace_ids: [] }, 'ORGANIZATION'],
  ])('with %s has the scope of it', async (_given, lists, scope) => {
    const sandbox = await startedSandbox();
    const { json } = await ask(sandbox, `POST ${path}`, { body: { ...least, ...lists } });
    const isEmpty = scope === 'ORGANIZATION';
    expect(json).toStrictEqual({ ...plain, scope, ...(!isEmpty && lists) });
  });

  it.each(['name', 'url', 'active', 'enable_signed_webhooks'])(
    'without %s is answered with 400',
    async (field) => {
      const sandbox = await startedSandbox();
      const { [field as keyof typeof least]: _left, ...body } = least;
      const { status, json } = await ask(sandbox, `POST ${path}`, { body });
      expect(status).toBe(400);
      expect(json).toStrictEqual(validationError(path, { [field]: 'Should be given' }));
    },
  );

  it.each([
    ['name', { name: ' \t\n' }],
    ['name', { name: 7 }],
    ['description', { description: 'x'.repeat(1_501) }],
    ['description', { description: null }],
    ['url', { url: 'ftp://calls.example.com' }],
    ['url', { url: 'HTTPS://calls.example.com' }],
    ['url', { url: ' https://calls.example.com' }],
    ['active', { active: 'true' }],
    ['enable_signed_webhooks', { enable_signed_webhooks: null }],
    ['events', { events: 'CallHandler.CallEnded' }],
    ['events.1', { events: ['*', 'CallEnded'] }],
    ['events.0', { events: ['CallHandler.Call Ended'] }],
    ['headers.X-Shop', { headers: { 'X-Shop': 7 } }],
    ['headers.X-Shop', { headers: { 'X-Shop': 'a\r\nX-Other: b' } }],
    ['headers.X Shop', { headers: { 'X Shop': '7' } }],
    ['agent_ids', { agent_ids: 'agent_1' }],
    ['workspace_ids.0', { workspace_ids: [1] }],
    ['workspace_ids', { agent_ids: ['agent_1'], workspace_ids: ['workspace_1'] }],
  ])('with a wrong %s is answered with 400: %j', async (place, wrong) => {
    const sandbox = await startedSandbox();
    const { status, json } = await ask(sandbox, `POST ${path}`, { body: { ...least, ...wrong } });
    expect(status).toBe(400);
    expect(json).toStrictEqual(validationError(path, { [place]: expect.any(String) }));
    const list = await ask(sandbox, 'GET /v1/public/webhook/subscriptions?page_size=1');
    expect(list.json).toMatchObject({ total_count: 0 });
  });

  it.each([
    ['a description of 1500 characters', { description: 'x'.repeat(1_500) }],
    ['an http url', { url: 'http://localhost:1/hook' }],
    ['all events', { events: ['*'] }],
    ['all events of a service', { events: ['CallHandler.*'] }],
    ['an event that is not known', { events: ['callhandler.callended'] }],
    ['fields that only answers have', { id: 'mine', request_timeout_ms: 5, retry_policy: {} }],
  ])('takes %s', async (_what, allowed) => {
    const sandbox = await startedSandbox();
    const { status, json } = await ask(sandbox, `POST ${path}`, { body: { ...least, ...allowed } });
    expect(status).toBe(201);
    expect(json).toMatchObject({ request_timeout_ms: 1_000, retry_policy: plain.retry_policy });
    expect(json).not.toMatchObject({ id: 'mine' });
  });

  it('with the name of another is answered with 400; two at once end with one', async () => {
    const sandbox = await startedSandbox();
    const answers = await Promise.all([1, 2, 3].map(() => ask(sandbox, `POST ${path}`, { body: least })));
    expect(answers.map(({ status }) => String(status)).sort()).toEqual(['201', '400', '400']);
    const refused = answers.find(({ status }) => status === 400);
    const details = { name: 'Should be unique: another subscription of the organization has this name' };
    expect(refused?.json).toStrictEqual(validationError(path, details));
  });
});

describe('reading subscriptions', () => {
  it('never returns the secret', async () => {
    const sandbox = await startedSandbox();
    const id = await createdId(sandbox, { ...least, enable_signed_webhooks: true });
    const one = await ask(sandbox, `GET ${path}/${id}`);
    const all = await ask(sandbox, 'GET /v1/public/webhook/subscriptions?page_size=100');
    expect(one.status).toBe(200);
    expect(one.json).toStrictEqual({ ...plain, signing_enabled: true });
    expect(one.text + all.text).not.toContain('whsec_');
  });

  it('lists them in pages, in the order of their creation', async () => {
    const sandbox = await startedSandbox();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await createdId(sandbox, { ...least, name });
    const names: string[][] = [];
    let token: string | null = '';
    while (token !== null) {
      const query: string = token === '' ? '' : `&page_token=${token}`;
      const { status, json } = await ask(sandbox, `GET /v1/public/webhook/subscriptions?page_size=2${query}`);
      expect(status).toBe(200);
      const page = json as { data: { name: string }[]; next_page_token: string | null; total_count: number };
      expect(Object.keys(page).sort()).toEqual(['data', 'next_page_token', 'total_count']);
      expect(page.total_count).toBe(5);
      names.push(page.data.map(({ name }) => name));
      token = page.next_page_token;
    }
    expect(names).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('ends with a full page when there is nothing after it', async () => {
    const sandbox = await startedSandbox();
    for (const name of ['a', 'b']) await createdId(sandbox, { ...least, name });
    const { json } = await ask(sandbox, 'GET /v1/public/webhook/subscriptions?page_size=2');
    expect(json).toMatchObject({ next_page_token: null, total_count: 2 });
  });

  it('continues after a deleted subscription without skipping any', async () => {
    const sandbox = await startedSandbox();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push(await createdId(sandbox, { ...least, name }));
    const first = await ask(sandbox, 'GET /v1/public/webhook/subscriptions?page_size=1');
    const { next_page_token: token } = first.json as { next_page_token: string };
    await ask(sandbox, `DELETE ${path}/${ids[0]}`);
    const second = await ask(sandbox, `GET /v1/public/webhook/subscriptions?page_size=1&page_token=${token}`);
    expect(second.json).toMatchObject({ data: [{ name: 'b' }], total_count: 2 });
  });

  it.each([
    ['', { page_size: 'Should be given' }],
    ['?page_size=0', { page_size: expect.stringContaining('from 1 to 100') }],
    ['?page_size=101', { page_size: expect.stringContaining('from 1 to 100') }],
    ['?page_size=1.5', { page_size: expect.stringContaining('from 1 to 100') }],
    ['?page_size=-1', { page_size: expect.stringContaining('from 1 to 100') }],
    ['?page_size=', { page_size: expect.stringContaining('from 1 to 100') }],
    ['?page_size=1&page_size=2', { page_size: expect.stringContaining('once') }],
    ['?page_size=1&page_token=mine', { page_token: expect.stringContaining('another page') }],
    ['?page_size=1&page_token=a&page_token=b', { page_token: expect.stringContaining('once') }],
  ])('with the query "%s" is answered with 400', async (query, details) => {
    const sandbox = await startedSandbox();
    const { status, json } = await ask(sandbox, `GET /v1/public/webhook/subscriptions${query}`);
    expect(status).toBe(400);
    expect(json).toStrictEqual(validationError('/v1/public/webhook/subscriptions', details));
  });
});

describe('deleting a subscription', () => {
  it('answers 204 with nothing, and the name is free again', async () => {
    const sandbox = await startedSandbox();
    const id = await createdId(sandbox);
    const { status, text } = await ask(sandbox, `DELETE ${path}/${id}`);
    expect([status, text]).toEqual([204, '']);
    expect((await ask(sandbox, `GET ${path}/${id}`)).status).toBe(404);
    expect((await ask(sandbox, `DELETE ${path}/${id}`)).status).toBe(404);
    await createdId(sandbox);
  });
});

describe("another organization's subscription", () => {
  it.each([
    ['GET', '', undefined],
    ['PUT', '', least],
    ['DELETE', '', undefined],
    ['POST', '/rotate/secret', undefined],
  ])('is answered to %s as one that there never was', async (method, end, body) => {
    const sandbox = await startedSandbox({ seed: twoTenants });
    const created = await ask(sandbox, `POST ${path}`, {
      key: 'key_of_ada',
      body: { ...least, enable_signed_webhooks: true },
    });
    const { id } = created.json as { id: string };
    for (const missing of [id, 'sub_none', '%00', '%zz', '%C3', '..%2F', '%27;']) {
      const at = `${path}/${missing}${end}`;
      const parts = { key: 'key_of_cleo', ...(body && { body }) };
      const { status, json } = await ask(sandbox, `${method} ${at}`, parts);
      expect([missing, status]).toEqual([missing, 404]);
      expect(json).toStrictEqual({
        status: 404,
        type: 'NOT_FOUND',
        message: 'Subscription not found',
        details: {},
        timestamp: isoTime,
        path: at,
        trace_id: expect.any(String),
      });
    }
    const { json } = await ask(sandbox, `GET ${path}/${id}`, { key: 'key_of_ben' });
    expect(json).toMatchObject({
      id,
      organization_id: 'org_1',
      created_user_id: 'user_ada',
      signing_enabled: true,
    });
  });

  it('is not listed for other organizations, which may use its name', async () => {
    const sandbox = await startedSandbox({ seed: twoTenants });
    for (const key of ['key_of_ada', 'key_of_cleo']) {
      expect((await ask(sandbox, `POST ${path}`, { key, body: least })).status).toBe(201);
    }
    const list = '/v1/public/webhook/subscriptions?page_size=100';
    const { json } = await ask(sandbox, `GET ${list}`, { key: 'key_of_cleo' });
    expect(json).toMatchObject({
      data: [{ organization_id: 'org_2', created_user_id: 'user_cleo' }],
      total_count: 1,
    });
  });
});
