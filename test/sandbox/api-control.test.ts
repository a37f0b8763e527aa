import { describe, expect, it } from 'vitest';
import { listening } from '../support/servers.ts';
import { destination } from './destination.ts';
import { ask, startedSandbox, subscription, subscriptionPath as path } from './support.ts';
import { twoTenants } from './tenants.ts';

describe('the controls over HTTP', () => {
  it('play a call in the organization of the key, and list its attempts', async () => {
    const sandbox = await startedSandbox({ seed: twoTenants, speed: 100_000 });
    const port = await listening((_request, response) => response.end('{}'));
    for (const key of ['key_of_ada', 'key_of_cleo']) {
      const body = { ...subscription, active: true, url: `http://127.0.0.1:${port}/` };
      await ask(sandbox, `POST ${path}`, { key, body });
    }
    const body = { scenario: 'completed', callId: 'call_1', organizationId: 'org_1' };
    const played = await ask(sandbox, 'POST /sandbox/calls', { key: 'key_of_cleo', body });
    expect([played.status, played.json]).toMatchObject([200, { callId: 'call_1', organizationId: 'org_2' }]);
    const attempts = async (key: string, query = '') =>
      (await ask(sandbox, `GET /sandbox/attempts${query}`, { key })).json as {
        attempts: { callId: string }[];
      };
    const own = await attempts('key_of_cleo', '?callId=call_1');
    expect(own.attempts.map(({ callId }) => callId)).toEqual(['call_1', 'call_1', 'call_1']);
    expect(own.attempts[0]).toMatchObject({ status: 200, isDelivered: true, number: 1 });
    expect((await attempts('key_of_cleo', '?callId=call_2')).attempts).toEqual([]);
    expect((await attempts('key_of_ada')).attempts).toEqual([]);
  });

  it.each([
    ['calls', { scenario: 'odd' }],
    ['calls', { agentId: 'agent_2' }],
    ['calls', []],
    ['failures', { operation: 'odd', count: 1 }],
    ['failures', { operation: 'knowledge-bases' }],
    ['failures', { operation: 'knowledge-bases', count: 1, status: 429 }],
    ['tools/call', { agentId: 'agent_1', toolId: 'tool_1' }],
    ['tools/call', { agentId: 'agent_2', toolId: 'tool_1' }],
    ['tools/call', { agentId: 'agent_1', toolId: 'tool_1', args: 'odd' }],
  ])('answer 422 to %s with %j', async (control, body) => {
    const sandbox = await startedSandbox({ seed: twoTenants });
    const { status, json } = await ask(sandbox, `POST /sandbox/${control}`, { key: 'key_of_ada', body });
    expect(status).toBe(422);
    expect(json).toMatchObject({ detail: [{ loc: expect.any(Array), msg: expect.any(String) }] });
  });

  it.each(['?callid=call_1', '?callId=call_1&callId=call_2'])('answer 422 to attempts%s', async (query) => {
    const sandbox = await startedSandbox({ seed: twoTenants });
    const { status } = await ask(sandbox, `GET /sandbox/attempts${query}`, { key: 'key_of_ada' });
    expect(status).toBe(422);
  });

  it("call a tool of the key's organization, and not another's", async () => {
    const sandbox = await startedSandbox({ seed: twoTenants });
    const { url, received } = await destination();
    const tool = {
      openai_tool: { name: 'find', description: 'Finds', parameters: { type: 'object', properties: {} } },
      additional_tool_info: { tool_type: 'custom', api: { endpoint: url, method: 'POST' } },
      tool_id: 'tool_1',
    };
    const created = await ask(sandbox, 'POST /v2/ai-agents/agent_1/custom-tools/', {
      key: 'key_of_ada',
      body: tool,
    });
    expect(created.status).toBe(201);
    const body = { agentId: 'agent_1', toolId: 'tool_1', args: { guests: 2 } };
    const others = await ask(sandbox, 'POST /sandbox/tools/call', { key: 'key_of_cleo', body });
    expect([others.status, received.length]).toEqual([422, 0]);
    const own = await ask(sandbox, 'POST /sandbox/tools/call', { key: 'key_of_ada', body });
    expect([own.status, own.json]).toMatchObject([200, { status: 200 }]);
    await sandbox.callTool('agent_1', 'tool_1', { guests: 3 });
    expect(received.map(({ json }) => json)).toEqual([{ guests: 2 }, { guests: 3 }]);
    const unknown = expect.objectContaining({ code: 'tool_unregistered' });
    await expect(sandbox.callTool('agent_2', 'tool_1')).rejects.toEqual(unknown);
  });

  it('let requests fail', async () => {
    const sandbox = await startedSandbox();
    const body = { operation: 'knowledge-bases', count: 1 };
    expect((await ask(sandbox, 'POST /sandbox/failures', { body })).json).toEqual(body);
    expect((await ask(sandbox, 'GET /api/v1/knowledge-bases/kb_demonstration')).status).toBe(503);
  });

  it('report what was given up', async () => {
    const sandbox = await startedSandbox({ seed: twoTenants, speed: 100_000 });
    const body = {
      ...subscription,
      active: true,
      url: 'http://127.0.0.1:1/',
      events: ['CallHandler.CallEnded'],
    };
    await ask(sandbox, `POST ${path}`, { key: 'key_of_ada', body });
    await sandbox.calls.play({ callId: 'call_1', organizationId: 'org_1' });
    const own = await ask(sandbox, 'GET /sandbox/deliveries', { key: 'key_of_ada' });
    expect(own.json).toMatchObject({ givenUp: [{ callId: 'call_1', attempts: 4 }] });
    const others = await ask(sandbox, 'GET /sandbox/deliveries', { key: 'key_of_cleo' });
    expect(others.json).toEqual({ givenUp: [] });
  });
});
