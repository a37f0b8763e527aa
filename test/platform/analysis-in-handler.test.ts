import { expect, it, onTestFinished } from 'vitest';
import { Discard } from '../../src/index.ts';
import { createPlatform } from '../../src/platform/index.ts';
import { buildDelivery, deliver, manualClock, testReceiver } from '../../src/testing/index.ts';
import { apiKey, standIn } from './support.ts';
import { whenHandled } from '../support/when-handled.ts';

const findings = { data: { items: [{ name: ' sold ', type: 'boolean', result: 'true' }] } };

it('a handler stores the analysis of its call, and tries again later if it is not ready', async () => {
  const clock = manualClock();
  const { url, received } = await standIn({ status: 404, json: {} }, { json: findings });
  const platform = createPlatform({ baseUrl: url, apiKey });
  const receiver = testReceiver({ clock, retry: { base: '1m' } });
  onTestFinished(() => receiver.stop());
  receiver.database.exec('create table findings (call_id text, name text, result text)');
  receiver.on('callAnalysis.pcaCompleted', { name: 'save-findings' }, async (event, ctx) => {
    const { agent_id, call_id } = event.payload;
    if (agent_id === undefined) throw new Discard('the event names no agent');
    const { items } = await platform.analyses.get(agent_id, call_id, { timeout: 0, signal: ctx.signal });
    await ctx.commit((db) => {
      const save = db.prepare('insert into findings values (?, ?, ?)');
      for (const { name, result } of items) save.run(call_id, String(name).trim(), String(result));
    });
  });
  await receiver.start();
  const source = { traceId: 't-1', callId: 'c-1', timestamp: clock.now() };
  await deliver(receiver, buildDelivery('pca-completed', source));
  const { runs } = await whenHandled(receiver, 't-1', { clock });
  expect(runs).toMatchObject([{ handler: 'save-findings', state: 'done', attempts: 2 }]);
  expect(received).toHaveLength(2);
  expect(receiver.database.prepare('select * from findings').all()).toEqual([
    { call_id: 'c-1', name: 'sold', result: 'true' },
  ]);
});
