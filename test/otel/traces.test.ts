import { context, diag, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  NodeTracerProvider,
  ParentBasedSampler,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { followLinks, instrument } from '../../src/otel/index.ts';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { Script } from '../support/process.ts';
import { Discard, type Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { type Collected, attributesOf, handlingProcess, startedCollector, urlOfInbox } from './collector.ts';

/** A collector, and a real SDK of this process that sends to it. */
async function collector(sampler?: Sampler) {
  const { url, ...collected } = await startedCollector();
  // Each span is sent by itself, and without these, what comes while thirty are on their way is dropped.
  const exporter = new OTLPTraceExporter({ url, concurrencyLimit: Infinity, timeoutMillis: 600_000 });
  const tracerProvider = new NodeTracerProvider({
    ...(sampler && { sampler }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  tracerProvider.register();
  onTestFinished(async () => tracerProvider.shutdown());
  return { url, ...collected, tracerProvider, flushed: () => tracerProvider.forceFlush() };
}

function broken(): never {
  throw new Error('the exporter is broken');
}

const brokenSetters = { setAttribute: broken, setAttributes: broken, setStatus: broken };

// The context manager is global: others that run in this process don't get it.
afterEach(() => {
  context.disable();
  trace.disable();
});

describe('traces', () => {
  test.each<[string, Partial<SpanProcessor>]>([
    ['at the start of a span', { onStart: broken }],
    ['at the end of a span', { onEnd: broken }],
    ['as a span gets attributes', { onStart: (span) => void Object.assign(span, brokenSetters) }],
  ])('that fail %s keep nothing from being taken and handled', async (_when, processor) => {
    const noted: unknown[] = [];
    const note = (...words: unknown[]) => {
      noted.push(...words);
      // The SDK has words of its own, as it is registered again.
      if (String(words[0]).startsWith('ringback')) throw new Error('and the log is full');
    };
    const quiet = () => {};
    diag.setLogger({ error: note, warn: quiet, info: quiet, debug: quiet, verbose: quiet });
    onTestFinished(() => diag.disable());
    const rest = { onStart: quiet, onEnd: quiet, shutdown: async () => {}, forceFlush: async () => {} };
    const tracerProvider = new NodeTracerProvider({ spanProcessors: [{ ...rest, ...processor }] });
    tracerProvider.register();
    const { receiver, logs } = await started({}, (r) => {
      instrument(r, { tracerProvider });
      r.on('*', { name: 'crm' }, async (_event, { commit }) => commit(() => {}));
    });
    expect(await deliver(receiver)).toMatchObject({ status: 200 });
    await logs.until('run_done');
    expect(logs.of('dispatch_failed')).toEqual([]);
    expect(noted).toContainEqual(new Error('the exporter is broken'));
  });

  test('link a delivery and its attempts across a restart', async () => {
    const { spans, named, tracerProvider } = await collector();
    const clock = new ManualClock();
    const database = temporaryDatabase();
    let isDown = true;
    const register = (r: Receiver) => {
      instrument(r, { tracerProvider });
      r.on('*', { name: 'crm' }, async (_event, { commit }) => {
        trace.getTracer('app').startSpan('POST crm.example.com').end();
        if (isDown) throw new TypeError('the customer Ann is unknown');
        await commit(() => {});
      });
    };
    const first = await started({ clock, database }, register);
    const body = bodyOf({ traceId: 'trace-1', callId: 'call-1' });
    await deliver(first.receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await first.logs.until('run_retry');
    await clock.runUntil(first.receiver.stop());
    isDown = false;
    const second = await started({ clock, database }, register);
    clock.advance(5_000);
    await second.logs.until('run_done');

    const [receive] = await named('receive');
    const [failed, done] = await named('process crm', 2);
    const settled = await named('settle', 2);
    const calls = await named('POST crm.example.com', 2);
    if (!receive || !failed || !done) throw new Error('no spans');
    expect(attributesOf(receive)).toEqual({
      'messaging.system': 'ringback',
      'messaging.operation.name': 'receive',
      'messaging.operation.type': 'receive',
      'messaging.message.id': 'trace-1',
      'ringback.outcome': 'accepted',
    });
    for (const attempt of [failed, done]) {
      expect(attempt.parentSpanId).toBeUndefined();
      expect(attempt.links).toMatchObject([{ traceId: receive.traceId, spanId: receive.spanId }]);
      const within = (span: Collected) =>
        span.traceId === attempt.traceId && span.parentSpanId === attempt.spanId;
      expect(settled.filter(within)).toHaveLength(1);
      expect(calls.filter(within)).toHaveLength(1);
    }
    expect(attributesOf(failed)).toEqual({
      'messaging.system': 'ringback',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.message.id': 'trace-1',
      'messaging.message.conversation_id': 'call-1',
      'messaging.consumer.group.name': 'crm',
      'ringback.event.name': 'CallHandler.CallEnded',
      'ringback.attempt': 1,
      'ringback.outcome': 'retried',
      'error.type': 'TypeError',
    });
    expect(failed.status).toEqual({ code: 2 });
    expect(attributesOf(done)).toMatchObject({ 'ringback.attempt': 2, 'ringback.outcome': 'done' });
    expect(done.status.code ?? 0).toBe(0);
    expect(JSON.stringify(spans)).not.toContain('Ann');
  });

  test.each(['on SQLite', 'on Postgres'])(
    'link a delivery with its attempts in another process, also those of a replay, %s',
    async (where) => {
      const { url, named, tracerProvider } = await collector();
      const database = where === 'on SQLite' ? temporaryDatabase() : await urlOfInbox();
      // Without a handler, it leaves what it receives to others.
      const { receiver } = made({ database });
      instrument(receiver, { tracerProvider });
      await receiver.start();
      const other = new Script(handlingProcess, JSON.stringify({ database, url }));
      await other.line('started');
      const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
      const body = bodyOf({ traceId: 'trace-1' });
      const traceparent = `00-${traceId}-${spanId}-01`;
      await deliver(receiver, body, { ...signedHeaders(body), traceparent });
      const [receive] = await named('receive');
      await named('process crm');
      await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
      const { receiver: replaying } = await started({ database }, (r) => {
        instrument(r, { tracerProvider });
        r.on('*', { name: 'crm' }, () => {});
      });
      await replaying.events.replay({ traceId: 'trace-1' });
      const attempts = await named('process crm', 2);
      expect(receive).toMatchObject({ traceId, parentSpanId: spanId });
      expect(attempts.map(({ links }) => links)).toMatchObject(
        attempts.map(() => [{ traceId, spanId: receive?.spanId }]),
      );
    },
  );

  test('have the class of an error in ctx.commit, and no code, which may contain anything', async () => {
    const { spans, named, tracerProvider } = await collector();
    const { receiver, logs } = await started({}, (r) => {
      instrument(r, { tracerProvider });
      r.on('*', { name: 'crm' }, (_event, { commit }) =>
        commit(() => {
          throw Object.assign(new TypeError('no'), { code: 'the customer Ann is unknown' });
        }),
      );
    });
    await deliver(receiver, bodyOf());
    await logs.until('run_retry');
    const [settle] = await named('settle');
    expect(settle && attributesOf(settle)).toMatchObject({ 'error.type': 'TypeError' });
    expect(JSON.stringify(spans)).not.toContain('Ann');
  });

  describe('of a part of all deliveries', () => {
    const deliveries = 64;

    /** The ids of those that have a span of the name. That all 64 fall on one side happens in one of 10^19 runs. */
    async function sampled(root: Sampler) {
      const { spans, tracerProvider, flushed } = await collector(new ParentBasedSampler({ root }));
      const { receiver, logs } = await started({}, (r) => {
        instrument(r, { tracerProvider });
        r.on('*', { name: 'crm' }, () => trace.getTracer('app').startSpan('POST crm.example.com').end());
      });
      for (let count = 0; count < deliveries; count += 1)
        await deliver(receiver, bodyOf({ traceId: `trace-${count}` }));
      await logs.until('run_done', deliveries);
      await receiver.stop();
      await flushed();
      const named = (name: string) => spans.filter((span) => span.name === name);
      const idsOf = (name: string) =>
        new Set(named(name).map((span) => attributesOf(span)['messaging.message.id']));
      return { named, received: idsOf('receive'), attempts: idsOf('process crm') };
    }

    test('have all spans of a delivery or none', { tags: 'long' }, async () => {
      const { named, received, attempts } = await sampled(followLinks(new TraceIdRatioBasedSampler(0.5)));
      expect(received.size).toBeGreaterThan(0);
      expect(received.size).toBeLessThan(deliveries);
      expect(attempts).toEqual(received);
      expect(named('settle')).toHaveLength(received.size);
      expect(named('POST crm.example.com')).toHaveLength(received.size);
    });

    test(
      'have no attempts without their delivery, whatever the sampler draws for them',
      { tags: 'long' },
      async () => {
        const { named, received, attempts } = await sampled(new TraceIdRatioBasedSampler(0.5));
        expect(received.size).toBeLessThan(deliveries);
        expect([...attempts].filter((id) => !received.has(id))).toEqual([]);
        expect(named('POST crm.example.com')).toHaveLength(attempts.size);
      },
    );
  });

  test('continue the span of the sender, or of the HTTP server', async () => {
    const { named, tracerProvider } = await collector();
    const { receiver, logs } = await started({}, (r) => {
      instrument(r, { tracerProvider });
      r.on('*', () => {});
    });
    const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
    const send = (id: string) => {
      const body = bodyOf({ traceId: id });
      return deliver(receiver, body, { ...signedHeaders(body), traceparent: `00-${traceId}-${spanId}-01` });
    };
    await send('trace-1');
    await trace.getTracer('http').startActiveSpan('POST /webhooks', async (server) => {
      await send('trace-2');
      server.end();
    });
    await logs.until('run_done', 2);
    const received = await named('receive', 2);
    const [server] = await named('POST /webhooks');
    expect(received.find((span) => attributesOf(span)['messaging.message.id'] === 'trace-1')).toMatchObject({
      traceId,
      parentSpanId: spanId,
    });
    expect(received.find((span) => attributesOf(span)['messaging.message.id'] === 'trace-2')).toMatchObject({
      traceId: server?.traceId,
      parentSpanId: server?.spanId,
    });
  });

  test('of refused deliveries say why, and an invalid context of a sender is ignored', async () => {
    const { named, tracerProvider } = await collector();
    const { receiver } = await started({}, (r) => instrument(r, { tracerProvider }));
    const body = bodyOf();
    const headers = { ...signedHeaders(body, { secrets: otherSecret }), traceparent: '00-xyz-1-01' };
    expect((await deliver(receiver, body, headers)).status).toBe(401);
    const [receive] = await named('receive');
    expect(receive?.status).toEqual({ code: 2 });
    expect(receive && attributesOf(receive)).toMatchObject({ 'error.type': 'not_authentic' });
    expect(receive?.parentSpanId).toBeUndefined();
  });

  test('are not made of a receiver that was not instrumented', async () => {
    const { spans, tracerProvider } = await collector();
    const { receiver, logs } = await started({}, (r) => r.on('*', () => {}));
    await deliver(receiver);
    await logs.until('run_done');
    await tracerProvider.forceFlush();
    expect(spans).toEqual([]);
  });
});

describe('metrics of OpenTelemetry', () => {
  test('count what a receiver does, and show what waits', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    onTestFinished(async () => meterProvider.shutdown());
    const { receiver, logs } = await started({}, (r) => {
      instrument(r, { meterProvider });
      r.on('*', { name: 'crm' }, ({ traceId }) => {
        if (traceId === 'bad') throw new Discard('no');
      });
    });
    await deliver(receiver, bodyOf({ traceId: 'good' }));
    await deliver(receiver, bodyOf({ traceId: 'bad' }));
    await Promise.all([logs.until('run_done'), logs.until('run_dead')]);
    const forged = bodyOf();
    await deliver(receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
    await expect.poll(async () => (await receiver.counts()).quarantine.notAuthentic).toBe(1);
    await receiver.handlers.pause('crm');
    await meterProvider.forceFlush();
    const points = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)
      .flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => [
          descriptor.name,
          attributes,
          typeof value === 'number' ? value : value.count,
        ]),
      );
    expect(points).toEqual(
      expect.arrayContaining([
        ['ringback.deliveries', { outcome: 'accepted' }, 2],
        ['ringback.deliveries', { outcome: 'refused', code: 'not_authentic' }, 1],
        ['ringback.answer.duration', {}, 3],
        ['ringback.runs', { handler: 'crm', outcome: 'done' }, 1],
        ['ringback.runs', { handler: 'crm', outcome: 'dead' }, 1],
        ['ringback.run.duration', { handler: 'crm' }, 2],
        ['ringback.waiting', {}, 0],
        ['ringback.oldest_waiting', {}, 0],
        ['ringback.stored_runs', { state: 'dead' }, 1],
        ['ringback.stored_runs', { state: 'due' }, 0],
        ['ringback.quarantined', { kind: 'not_authentic' }, 1],
        ['ringback.quarantined', { kind: 'unreadable' }, 0],
        ['ringback.handler_paused', { handler: 'crm' }, 1],
      ]),
    );
  });

  test('that fail do not keep deliveries from being accepted and handled', async () => {
    const meterProvider = new MeterProvider({
      views: [{ instrumentName: 'ringback.*', attributesProcessors: [{ process: broken }] }],
      readers: [
        new PeriodicExportingMetricReader({
          exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
          exportIntervalMillis: 3_600_000,
        }),
      ],
    });
    onTestFinished(async () => meterProvider.shutdown());
    const { receiver, logs } = await started({}, (r) => {
      instrument(r, { meterProvider });
      r.on('*', () => {});
    });
    expect(await deliver(receiver)).toMatchObject({ status: 200 });
    await logs.until('run_done');
    // It is settled, too.
    await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
    expect(logs.of('dispatch_failed')).toEqual([]);
  });

  test('are read before the receiver is started', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const meterProvider = new MeterProvider({
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
    });
    onTestFinished(async () => meterProvider.shutdown());
    instrument(made().receiver, { meterProvider });
    await meterProvider.forceFlush();
    expect(exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)).toEqual([]);
  });
});

test('wrong arguments of instrument are refused by name', () => {
  const { receiver } = made();
  expect(() => instrument({} as never)).toThrow(
    'The option receiver should be what createReceiver has returned, but is of type object.',
  );
  expect(() => instrument(receiver, { tracer: undefined } as never)).toThrow(
    'There is no option tracer in instrument. The options are: tracerProvider, meterProvider.',
  );
  expect(() => instrument(receiver, { meterProvider: {} } as never)).toThrow(
    'The option meterProvider in instrument should be a MeterProvider, with the method getMeter',
  );
});
