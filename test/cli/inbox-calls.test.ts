import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deliver } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { testReceiver } from '../../src/testing/test-receiver.ts';
import { folder, ringback, secret } from './command.ts';
import { env, inboxWithTrouble, linesOf } from './inbox-support.ts';

const sent = (fixture: string, traceId: string) => buildDelivery(fixture, { secret, traceId });

describe('ringback inbox', () => {
  it('counts what there is, by state', async () => {
    const cwd = await inboxWithTrouble();
    const { code, stdout, stderr } = await ringback(['inbox', 'counts'], { env, cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      events: { new: 0, open: 0, done: 2 },
      claims: { events: 0 },
      runs: { due: 0, running: 0, blocked: 0, dead: 1 },
      quarantine: { notAuthentic: 1, unreadable: 0, dropped: 0 },
    });
  });

  it('distinguishes what a process has claimed from what waits for one', async () => {
    const cwd = folder();
    const counted = async () =>
      JSON.parse((await ringback(['inbox', 'counts'], { env, cwd })).stdout) as unknown;
    const database = join(cwd, 'ringback.db');
    const receiver = testReceiver({ secrets: secret, database });
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    receiver.on('*', { name: 'journal' }, async () => {
      begun.resolve();
      await released.promise;
    });
    await receiver.start();
    await deliver(receiver, sent('call-ended', 't-held'));
    await begun.promise;
    expect(await counted()).toMatchObject({ events: { new: 1, done: 0 }, claims: { events: 1 } });
    released.resolve();
    await receiver.stop();
    const idle = testReceiver({ secrets: secret, database });
    await idle.start();
    await deliver(idle, sent('call-ended', 't-waiting'));
    await idle.stop();
    expect(await counted()).toMatchObject({ events: { new: 1, done: 1 }, claims: { events: 0 } });
  });

  it('shows calls, and one call, as their events report them', async () => {
    const cwd = await inboxWithTrouble({ besides: [sent('call-transferred-flat', 't-transferred')] });
    const [latest, first] = await linesOf(cwd, 'calls');
    expect(latest).toMatchObject({ status: 'transferred', events: [{ traceId: 't-transferred' }] });
    expect(first).toMatchObject({ status: 'ended', events: [{ traceId: 't-dead' }, { traceId: 't-well' }] });
    expect(await linesOf(cwd, 'calls', '--status', 'ended', '--since', '1h')).toEqual([first]);
    expect(await linesOf(cwd, 'calls', '--status', 'transferred')).toEqual([latest]);
    for (const status of ['in_progress', 'analysed'])
      expect(await linesOf(cwd, 'calls', '--status', status)).toEqual([]);
    expect(await linesOf(cwd, 'calls', '--until', '1h')).toEqual([]);
    expect(await linesOf(cwd, 'calls', '--agent-id', 'nobody')).toEqual([]);
    const { callId } = first as { callId: string };
    const { stdout } = await ringback(['inbox', 'call', callId], { env, cwd });
    expect(JSON.parse(stdout)).toEqual({ ...(first as object), joins: [] });
  });

  it('shows what joins wait for in a call', async () => {
    const cwd = folder();
    const receiver = testReceiver({ secrets: secret, database: join(cwd, 'ringback.db') });
    const events = ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'];
    receiver.onCall({ name: 'save', events, within: '1h' }, () => {});
    await receiver.start();
    await deliver(receiver, sent('call-ended', 't-ended'));
    const callId = (await receiver.events.get('t-ended'))?.callId ?? '';
    await expect.poll(async () => (await receiver.calls.joins(callId)).length).toBe(1);
    await receiver.stop();
    const { stdout } = await ringback(['inbox', 'call', callId], { env, cwd });
    expect(JSON.parse(stdout)).toMatchObject({
      callId,
      joins: [{ handler: 'save', missing: ['callAnalysis.pcaCompleted'], runs: [{ state: 'due' }] }],
    });
  });

  it('shows how events differ from their documentation', async () => {
    const parked = buildDelivery({ eventName: 'CallHandler.CallParked', payload: {} }, { secret });
    const cwd = await inboxWithTrouble({ besides: [parked] });
    const { stdout } = await ringback(['inbox', 'drift'], { env, cwd });
    expect(stdout.split('\n').map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { eventName: 'CallHandler.CallParked', path: '', kind: 'unknown_event', count: 1 },
    ]);
  });

  it('says in a sentence that there is no drift, or no such call', async () => {
    const cwd = await inboxWithTrouble();
    expect(await ringback(['inbox', 'drift'], { env, cwd })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'ringback: no differences are known\n',
    });
    expect(await ringback(['inbox', 'call', 'call_none'], { env, cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('belongs to the call call_none') as string,
    });
    expect(await ringback(['inbox', 'calls', '--status', 'lost'], { env, cwd })).toMatchObject({ code: 2 });
  });
});
