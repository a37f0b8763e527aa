import { expect, test } from 'vitest';
import type { CallPlan } from '../../src/sandbox/calls/call-plan.ts';
import { ManualClock } from '../support/clock.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { ask, keys, startedSandbox } from './tenants.ts';

const callPath = '/v1/calls/call_1';
const analysisPath = '/v2/ai-agents/agent_1/postcall-analysis/results/call_1';
const start = Date.UTC(2026, 0, 1);
const plan = {
  scenario: 'completed',
  callId: 'call_1',
  agentId: 'agent_1',
  duration: '90s',
  analysisAfter: '7s',
  timestamps: 'iso',
} satisfies CallPlan;

/** A sandbox in which a call is in progress. */
async function whilePlaying(changes: CallPlan = {}) {
  const clock = new ManualClock(start);
  const sandbox = await startedSandbox({ clock });
  const playing = sandbox.calls.play({ ...plan, ...changes });
  await expect.poll(() => ask(sandbox, `GET ${callPath}`)).toMatchObject({ status: 200 });
  return { sandbox, clock, playing };
}

test('a call in progress has a start', async () => {
  const { sandbox } = await whilePlaying();
  const { json } = await ask(sandbox, `GET ${callPath}`);
  expect(json).toStrictEqual({
    _id: 'call_1',
    ai_agent_id: 'agent_1',
    call_status: 'ongoing',
    call_start_time: '2026-01-01T00:00:00.000Z',
    call_end_time: null,
    call_duration_seconds: null,
    call_finish_reason: null,
    messages: [],
    metadata: { language: expect.stringMatching(/^[a-z]{2}-[A-Z]{2}$/) },
  });
});

test('a call that has ended has an end and what was said', async () => {
  const { sandbox, clock } = await whilePlaying();
  clock.advance(90_000);
  const { json } = await ask(sandbox, `GET ${callPath}`);
  expect(json).toMatchObject({
    call_status: 'ended',
    call_start_time: '2026-01-01T00:00:00.000Z',
    call_end_time: '2026-01-01T00:01:30.000Z',
    call_duration_seconds: 90,
    call_finish_reason: expect.stringMatching(/./),
  });
  expect(json.messages.length).toBeGreaterThan(1);
  for (const message of json.messages) {
    expect(message).toStrictEqual({
      role: expect.stringMatching(/^(user|agent)$/),
      content: expect.stringMatching(/./),
    });
  }
});

test('an analysis is not found until it is ready', async () => {
  const { sandbox, clock } = await whilePlaying();
  const notReady = { error: 'not_found', message: 'Analysis not found' };
  expect(await ask(sandbox, `GET ${analysisPath}`)).toMatchObject({ status: 404, json: notReady });
  clock.advance(90_000 + 6_999);
  expect(await ask(sandbox, `GET ${analysisPath}`)).toMatchObject({ status: 404, json: notReady });
  clock.advance(1);
  const { status, json } = await ask(sandbox, `GET ${analysisPath}`);
  expect(status).toBe(200);
  expect(json).toStrictEqual({
    data: { call_id: 'call_1', ai_agent_id: 'agent_1', items: expect.any(Array) },
  });
  expect(json.data.items.length).toBeGreaterThan(0);
  for (const item of json.data.items) {
    expect(Object.keys(item)).toEqual(['type', 'name', 'description', 'analysis_prompt', 'result']);
    expect(Object.values(item).every((value) => typeof value === 'string')).toBe(true);
  }
});

test('an analysis that never comes is never found', async () => {
  const { sandbox, clock, playing } = await whilePlaying({ scenario: 'unanalysed' });
  clock.advance(86_400_000);
  await playing;
  expect((await ask(sandbox, `GET ${callPath}`)).json.call_status).toBe('ended');
  expect((await ask(sandbox, `GET ${analysisPath}`)).status).toBe(404);
});

test('a call that fails ends in error, and has an analysis without items', async () => {
  const { sandbox, clock, playing } = await whilePlaying({ scenario: 'failed' });
  clock.advance(97_000);
  await playing;
  expect((await ask(sandbox, `GET ${callPath}`)).json.call_status).toBe('error');
  expect((await ask(sandbox, `GET ${analysisPath}`)).json.data.items).toEqual([]);
});

test('another organization’s call is answered as one that there never was', async () => {
  const { sandbox, clock, playing } = await whilePlaying();
  clock.advance(97_000);
  await playing;
  const asCleo = (path: string) => ask(sandbox, `GET ${path}`, { key: keys.cleo });
  const missing = await asCleo('/v1/calls/call_2');
  expect([missing.status, missing.json]).toEqual([404, { error: 'not_found', message: 'Call not found' }]);
  expect((await asCleo(callPath)).text).toBe(missing.text);
  const otherAgent = await ask(sandbox, `GET ${analysisPath.replace('agent_1', 'agent_3')}`);
  expect(otherAgent.status).toBe(404);
  expect((await asCleo(analysisPath)).text).toBe(otherAgent.text);
  expect((await ask(sandbox, `GET ${callPath}`, { key: 'key_of_nobody' })).status).toBe(401);
});

test('an id may be anything that a path can carry', async () => {
  const callId = 'a call/of “Ada”?#%';
  const sandbox = await startedSandbox({ speed: 1_000_000 });
  await sandbox.calls.play({ ...plan, callId });
  const { json } = await ask(sandbox, `GET /v1/calls/${encodeURIComponent(callId)}`);
  expect(json).toMatchObject({ _id: callId, call_status: 'ended' });
});

test('calls survive a restart', async () => {
  const database = temporaryDatabase();
  const first = await startedSandbox({ database, speed: 1_000_000 });
  await first.calls.play(plan);
  const before = [await ask(first, `GET ${callPath}`), await ask(first, `GET ${analysisPath}`)];
  await first.stop();
  const second = await startedSandbox({ database });
  const after = [await ask(second, `GET ${callPath}`), await ask(second, `GET ${analysisPath}`)];
  expect(after.map(({ status, text }) => [status, text])).toEqual(before.map(({ text }) => [200, text]));
});
