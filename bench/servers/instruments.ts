/**
 * What an operator may add to (e): `--operated` mounts the page and metrics for Prometheus; `--traced` makes spans with
 * OpenTelemetry's SDK and sends them in batches to the address in the environment; `--sampled` does so for one delivery
 * in ten.
 */
import type { Express } from 'express';
import type { Receiver } from '../../src/index.ts';

const built = (entry: string): string => new URL(`../../dist/${entry}/index.js`, import.meta.url).href;

/** Adds what the command line asks for. Call it before the receiver is started. */
export async function addInstruments<Transaction>(
  receiver: Receiver<Transaction>,
  app: Express,
): Promise<void> {
  if (process.argv.includes('--operated')) await addOperated(receiver, app);
  if (process.argv.includes('--traced')) await addTraces(receiver, 1);
  if (process.argv.includes('--sampled')) await addTraces(receiver, 0.1);
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

async function addTraces<Transaction>(receiver: Receiver<Transaction>, part: number): Promise<void> {
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { BatchSpanProcessor, NodeTracerProvider, ParentBasedSampler, TraceIdRatioBasedSampler } =
    await import('@opentelemetry/sdk-trace-node');
  const { followLinks, instrument } = (await import(
    built('otel')
  )) as typeof import('../../src/otel/index.ts');
  const exporter = new OTLPTraceExporter({ url: process.env['BENCH_COLLECTOR'] ?? '' });
  const sampler = new ParentBasedSampler({ root: followLinks(new TraceIdRatioBasedSampler(part)) });
  const spanProcessors = [new BatchSpanProcessor(exporter)];
  const tracerProvider = new NodeTracerProvider({ sampler, spanProcessors });
  tracerProvider.register();
  instrument(receiver, { tracerProvider });
}
