import { Registry } from '@prometheus-io/client';
import { describe, expect, test } from 'vitest';
import { collectMetrics } from '../../src/prometheus/index.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliverTo } from '../../src/testing/deliver.ts';
import { ringback, secret as commandSecret, serve } from '../cli/command.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { Discard } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';

/** The samples of the text that Prometheus reads, by their names with labels. */
function samplesIn(text: string): Readonly<Record<string, number>> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

const samplesOf = async (registry: Registry) => samplesIn(await registry.metrics());

test('wrong arguments of collectMetrics are refused by name', () => {
  const registry = new Registry();
  const { receiver } = made();
  expect(() => collectMetrics(registry as never, receiver as never)).toThrow(
    'The option receiver should be what createReceiver has returned, but is of type object.',
  );
  expect(() => collectMetrics(receiver, undefined as never)).toThrow(
    'The option collectMetrics(registry) should be a Registry of @prometheus-io/client, but is undefined.',
  );
});

describe('the metrics of a receiver', () => {
  test('count answers, attempts, and the contents of the inbox', async () => {
    const clock = new ManualClock();
    const registry = new Registry();
    const { receiver, logs } = await started({ clock }, (r) => {
      collectMetrics(r, registry);
      r.on('*', { name: 'crm' }, ({ traceId }) => {
        clock.advance(40);
        if (traceId.startsWith('bad')) throw new Discard('no');
        if (traceId.startsWith('late')) throw new Error('not yet');
      });
    });
    const send = (traceId: string, secrets?: string) => {
      const body = bodyOf({ traceId });
      const signing = { timestamp: clock.now(), ...(secrets !== undefined && { secrets }) };
      return deliver(receiver, body, signedHeaders(body, signing));
    };
    for (const traceId of ['good', 'good', 'bad', 'late']) await send(traceId);
    await send('forged', otherSecret);
    await Promise.all(['run_done', 'run_dead', 'run_retry'].map((name) => logs.until(name as 'run_done')));
    await receiver.handlers.pause('crm');
    await send('waits');
    await expect.poll(async () => (await receiver.counts()).runs.due).toBe(2);
    expect(await samplesOf(registry)).toMatchObject({
      'ringback_deliveries_total{outcome="accepted",code=""}': 4,
      'ringback_deliveries_total{outcome="duplicate",code=""}': 1,
      'ringback_deliveries_total{outcome="refused",code="not_authentic"}': 1,
      ringback_answer_duration_seconds_count: 6,
      'ringback_runs_total{handler="crm",outcome="done"}': 1,
      'ringback_runs_total{handler="crm",outcome="dead"}': 1,
      'ringback_runs_total{handler="crm",outcome="retried"}': 1,
      'ringback_run_duration_seconds_bucket{le="0.025",handler="crm"}': 0,
      'ringback_run_duration_seconds_bucket{le="0.1",handler="crm"}': 3,
      'ringback_stored_runs{state="due"}': 2,
      'ringback_stored_runs{state="dead"}': 1,
      'ringback_quarantined{kind="not_authentic"}': 1,
      'ringback_quarantined{kind="unreadable"}': 0,
      'ringback_handler_paused{handler="crm"}': 1,
    });
  });

  test('say how much waits, and for how long', async () => {
    const clock = new ManualClock();
    const registry = new Registry();
    const { receiver } = await started({ clock }, (r) => {
      collectMetrics(r, registry);
      r.on('*', { name: 'crm' }, () => {});
    });
    await receiver.handlers.pause('crm');
    const body = bodyOf();
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await expect.poll(async () => (await receiver.counts()).runs.due).toBe(1);
    clock.advance(90_000);
    expect(await samplesOf(registry)).toMatchObject({
      ringback_waiting: 1,
      ringback_oldest_waiting_seconds: 90,
    });
  });

  test('say how much waits in this process for the handler that has claimed it', async () => {
    const clock = new ManualClock();
    const registry = new Registry();
    const began = Promise.withResolvers<void>();
    const { receiver } = await started({ clock }, (r) => {
      collectMetrics(r, registry);
      r.on('*', { name: 'crm', concurrency: 1, timeout: '1h' }, () => {
        began.resolve();
        return new Promise(() => {});
      });
    });
    const send = async (traceId: string) => {
      const body = bodyOf({ traceId, callId: traceId });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    };
    for (const traceId of ['trace-1', 'trace-2', 'trace-3']) await send(traceId);
    await began.promise;
    clock.advance(90_000);
    await expect
      .poll(() => samplesOf(registry))
      .toMatchObject({
        ringback_waiting: 2,
        ringback_oldest_waiting_seconds: 90,
      });
    await receiver.stop({ drain: 0 });
  });

  test('can be read without the contents of the inbox while it is not open', async () => {
    const registry = new Registry();
    const { receiver } = made();
    collectMetrics(receiver, registry);
    const samples = await samplesOf(registry);
    expect(samples['ringback_waiting']).toBeNaN();
    expect(Object.keys(samples).filter((name) => name.startsWith('ringback_stored_runs'))).toEqual([]);
    expect(samples).toMatchObject({ ringback_answer_duration_seconds_count: 0 });
  });

  test('are not mixed with those of another receiver', () => {
    const registry = new Registry();
    collectMetrics(made().receiver, registry);
    expect(() => collectMetrics(made().receiver, registry)).toThrow('already been registered');
  });

  test('name nothing of an event', async () => {
    const registry = new Registry();
    const { receiver, logs } = await started({}, (r) => {
      collectMetrics(r, registry);
      r.on('*', { name: 'crm' }, () => {});
    });
    await deliver(receiver, bodyOf({ traceId: 'trace-of-ann', callId: 'call-of-ann' }));
    await logs.until('run_done');
    expect(await registry.metrics()).not.toContain('of-ann');
  });
});

describe('serve --metrics', () => {
  test(
    'answers Prometheus with the metrics of the receiver and of the process',
    { tags: 'long' },
    async () => {
      const url = await serve(['--metrics']).url();
      const delivery = buildDelivery('call-ended', { secret: commandSecret });
      await deliverTo(`${url}/webhooks`, delivery);
      const answer = await fetch(`${url}/metrics`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      const samples = samplesIn(await answer.text());
      expect(samples).toMatchObject({ 'ringback_deliveries_total{outcome="accepted",code=""}': 1 });
      expect(Object.keys(samples)).toContain('process_cpu_seconds_total');
      expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404);
    },
  );

  test('is off by default, and its path is for nothing else', async () => {
    expect((await fetch(`${await serve().url()}/metrics`)).status).toBe(404);
    const env = { RINGBACK_SECRETS: commandSecret, RINGBACK_PATH: '/metrics' };
    const { code, stderr } = await ringback(['serve'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('a path used only for deliveries');
  });
});
