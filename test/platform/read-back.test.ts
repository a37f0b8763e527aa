import { describe, expect, it, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { clientOf, otherKey, platformError, sandboxAndPlatform, standIn } from './support.ts';

const plan = { agentId: 'agent_1', callId: 'call of Ada/1', duration: '90s', analysisAfter: '7s' } as const;
const item = { type: 'boolean', name: ' sold ', description: '', analysis_prompt: '', result: 'true' };
const ready = { json: { data: { call_id: 'call_1', ai_agent_id: 'agent_1', items: [item] } } };

/** A call that the sandbox has played to its end. */
async function afterCall(scenario: 'completed' | 'unanalysed') {
  const { sandbox, platform } = await sandboxAndPlatform({}, { speed: 100_000 });
  return { sandbox, platform, call: await sandbox.calls.play({ ...plan, scenario }) };
}

describe('calls.get', () => {
  it('gives a call with its transcript, whatever its id looks like', async () => {
    const { platform, call } = await afterCall('completed');
    expect(await platform.calls.get(call.callId)).toMatchObject({
      _id: 'call of Ada/1',
      ai_agent_id: 'agent_1',
      call_status: 'ended',
      call_duration_seconds: 90,
      messages: call.messages,
    });
  });

  it("does not give another organization's", async () => {
    const { sandbox, call } = await afterCall('completed');
    const other = createPlatform({ baseUrl: sandbox.url, apiKey: otherKey });
    expect(await platformError(other.calls.get(call.callId))).toMatchObject({ status: 404 });
  });

  it('accepts a call with almost no fields', async () => {
    const { url } = await standIn({ json: { _id: 'call_1', call_status: null, messages: null, added: 1 } });
    expect(await clientOf(url).platform.calls.get('call_1')).toMatchObject({ _id: 'call_1', added: 1 });
  });

  it('takes a transcript with entries that have no text or no role', async () => {
    const messages = [{ role: 'user', content: 'Hello' }, { role: 'agent', tool_calls: [] }, {}];
    const { url } = await standIn({ json: { _id: 'call_1', messages } });
    expect((await clientOf(url).platform.calls.get('call_1')).messages).toEqual(messages);
  });
});

describe('analyses.get', () => {
  it('gives an analysis that is ready', async () => {
    const { platform, call } = await afterCall('completed');
    const analysis = await platform.analyses.get('agent_1', call.callId);
    expect(analysis).toMatchObject({ call_id: call.callId, ai_agent_id: 'agent_1' });
    expect(analysis.items).toEqual(call.analysis?.items);
    expect(analysis.items.length).toBeGreaterThan(0);
  });

  it('waits while there is none: 404, 500, and an analysis without items', async () => {
    const notYet = [
      { status: 404, json: { detail: 'Not found' } },
      { status: 500, json: {} },
      { json: { data: { items: [] } } },
      { json: { data: null } },
    ];
    const { url, received } = await standIn(...notYet, ready);
    const { platform, waits } = clientOf(url);
    expect((await platform.analyses.get('agent_1', 'call_1')).items).toEqual([item]);
    expect(received.map((request) => request.url)).toEqual(
      Array(5).fill('/v2/ai-agents/agent_1/postcall-analysis/results/call_1'),
    );
    expect(waits).toEqual([2_000, 2_000, 2_000, 2_000]);
  });

  it('rejects at its deadline, with the last answer', async () => {
    const json = { error: 'none', message: 'No analysis', traceId: 'trace-7' };
    const { url, received } = await standIn({ status: 404, json });
    const { platform, waits } = clientOf(url);
    const error = await platformError(
      platform.analyses.get('agent_1', 'call_1', { timeout: '5s', interval: '2s' }),
    );
    expect(error).toMatchObject({ code: 'not_ready', status: 404, requestId: 'trace-7' });
    expect(waits).toEqual([2_000, 2_000, 1_000]);
    expect(received).toHaveLength(4);
  });

  it('makes no further attempt after its deadline', async () => {
    const { url, received } = await standIn({ status: 503, headers: { 'retry-after': '2' }, json: {} });
    const { platform, waits } = clientOf(url);
    const asked = platform.analyses.get('agent_1', 'call_1', { timeout: '1s' });
    expect(await platformError(asked)).toMatchObject({ status: 503, retryAfter: 2_000 });
    expect(waits).toEqual([]);
    expect(received).toHaveLength(1);
  });

  it('does not ask for an analysis before the platform wants to be asked', async () => {
    const early = { status: 404, headers: { 'retry-after': '7' }, json: {} };
    const { url } = await standIn(early, { json: { data: { items: [{ name: 'a' }] } } });
    const { platform, waits } = clientOf(url);
    expect(await platform.analyses.get('agent_1', 'call_1')).toMatchObject({ items: [{ name: 'a' }] });
    expect(waits).toEqual([7_000]);
  });

  it('asks once without timeout', async () => {
    const { platform, call } = await afterCall('unanalysed');
    expect(await platformError(platform.analyses.get('agent_1', call.callId, { timeout: 0 }))).toMatchObject({
      code: 'not_ready',
    });
  });

  test.each([
    [503, 4],
    [401, 1],
  ])('does not take %i for "not ready yet"', async (status, attempts) => {
    const { url, received } = await standIn({ status, json: {} });
    const error = await platformError(clientOf(url).platform.analyses.get('agent_1', 'call_1'));
    expect(error).toMatchObject({ status, code: `http_${status}` });
    expect(received).toHaveLength(attempts);
  });

  it('ends with its signal while it waits', async () => {
    const controller = new AbortController();
    const { url } = await standIn((response) => {
      response.writeHead(404).end('{}', () => controller.abort(new Error('enough')));
    });
    const { signal } = controller;
    await expect(clientOf(url).platform.analyses.get('agent_1', 'call_1', { signal })).rejects.toThrow(
      'enough',
    );
  });
});
