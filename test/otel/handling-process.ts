/** A receiver in a process of its own that handles what others have received. Its spans go to the collector in its argument. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { createReceiver } from '../../src/index.ts';
import { instrument } from '../../src/otel/index.ts';
import { secret } from '../support/deliveries.ts';

const { database, url } = JSON.parse(process.argv[2] ?? '') as {
  readonly database: string;
  readonly url: string;
};
const exporter = new OTLPTraceExporter({ url, concurrencyLimit: Infinity, timeoutMillis: 600_000 });
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
tracerProvider.register();

const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
instrument(receiver, { tracerProvider });
receiver.on('*', { name: 'crm' }, () => {});
await receiver.start();
process.stdout.write(`${JSON.stringify({ started: true })}\n`);
// A receiver by itself keeps no process alive.
setInterval(() => {}, 60_000);
