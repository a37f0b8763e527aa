/**
 * A receiver in a process of its own, with a real SDK. Its one argument is a JSON object with the database, the address of a
 * collector, and whether its handler, which takes one event at a time, never ends. Otherwise that makes a call of its own.
 */
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { createReceiver } from '../../src/index.ts';
import { instrument } from '../../src/otel/index.ts';
import { secret } from '../support/deliveries.ts';
import { serverWithoutIdleTimeout } from '../support/server-without-idle-timeout.ts';

const {
  database,
  url,
  isStuck = false,
} = JSON.parse(process.argv[2] ?? '') as {
  readonly database: string;
  readonly url: string;
  readonly isStuck?: boolean;
};
const exporter = new OTLPTraceExporter({ url, concurrencyLimit: Infinity, timeoutMillis: 600_000 });
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
tracerProvider.register();

const receiver = createReceiver({
  secrets: secret,
  database,
  https: { required: false },
  logger: { level: 'silent' },
});
instrument(receiver, { tracerProvider });
receiver.on('*', { name: 'crm', concurrency: 1, timeout: '10m' }, async () => {
  if (isStuck) await new Promise(() => {});
  await setImmediate();
  trace.getTracer('app').startSpan('POST crm.example.com').end();
});
await receiver.start();
const server = serverWithoutIdleTimeout(receiver.nodeHandler()).listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ started: `http://127.0.0.1:${port}` })}\n`);
});
