/**
 * What an operator may add to (e), and traces also to `spans.ts`: `--operated` mounts the page and metrics for
 * Prometheus; `--traced` makes spans with OpenTelemetry's SDK and sends them in batches to the address in the
 * environment; `--sampled` does so for one delivery in ten.
 */
import type { TracerProvider } from '@opentelemetry/api';
import type { Express } from 'express';
import type { Receiver } from '../../src/index.ts';

const built = (entry: string): string => new URL(`../../dist/${entry}/index.js`, import.meta.url).href;

/** Adds what the command line asks for. Call it before the receiver is started. */
export async function addInstruments<Transaction>(
  receiver: Receiver<Transaction>,
  app: Express,
): Promise<void> {
  if (process.argv.includes('--operated')) await addOperated(receiver, app);
  await addTraces(receiver);
}

async function addOperated<Transaction>(receiver: Receiver<Transaction>, app: Express): Promise<void> {
  const { Registry, collectDefaultMetrics } = await import('@prometheus-io/client');
  const { collectMetrics } = (await import(
    built('prometheus')
  )) as typeof import('../../src/prometheus/index.ts');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  collectMetrics(receiver, registry);
  app.get('/metrics', async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  });
  app.use('/ringback', receiver.page({ authorize: () => 'all' }).middleware());
}

async function addTraces<Transaction>(receiver: Receiver<Transaction>): Promise<void> {
  const tracerProvider = await startTracing();
  if (!tracerProvider) return;
  const { instrument } = (await import(built('otel'))) as typeof import('../../src/otel/index.ts');
  instrument(receiver, { tracerProvider });
}

/** Starts OpenTelemetry's SDK if the command line asks for spans, and returns its provider. */
export async function startTracing(): Promise<TracerProvider | undefined> {
  const part = process.argv.includes('--traced') ? 1 : process.argv.includes('--sampled') ? 0.1 : undefined;
  if (part === undefined) return undefined;
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { BatchSpanProcessor, NodeTracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler } =
    await import('@opentelemetry/sdk-trace-node');
  const { followLinks } = (await import(built('otel'))) as typeof import('../../src/otel/index.ts');
  const exporter = new OTLPTraceExporter({ url: process.env['BENCH_COLLECTOR'] ?? '' });
  const sampler = new ParentBasedSampler({ root: followLinks(new TraceIdRatioBasedSampler(part)) });
  const spanProcessors = [new BatchSpanProcessor(exporter)];
  const tracerProvider = new NodeTracerProvider({ sampler, spanProcessors });
  tracerProvider.register();
  return tracerProvider;
}
