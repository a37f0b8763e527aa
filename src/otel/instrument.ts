import { type MeterProvider, type TracerProvider, metrics, trace } from '@opentelemetry/api';
import { type Receiver, internalsOf } from '../receiver/receiver.ts';
import { measure } from './measure.ts';
import { tracerOf } from './spans.ts';

/** Where spans and metrics go. */
export interface InstrumentOptions {
  /** @default the global one */
  readonly tracerProvider?: TracerProvider | undefined;
  /** @default the global one */
  readonly meterProvider?: MeterProvider | undefined;
}

/** The instrumentation scope of spans and metrics. */
const scope = 'ringback';

/**
 * Creates spans and metrics of a receiver with OpenTelemetry: a span for each delivery, and one for each attempt of a
 * handler, linked to the delivery's, however much later and in whichever process it runs. What a handler calls is
 * part of its attempt. Spans contain names and the ids of event and call, but nothing else of an event, and no error
 * messages.
 *
 * @example
 * import { instrument } from 'ringback/otel';
 * instrument(receiver); // after the SDK was started, and before the receiver is
 */
export function instrument<Transaction>(
  receiver: Receiver<Transaction>,
  { tracerProvider, meterProvider }: InstrumentOptions = {},
): void {
  const plain = receiver as unknown as Receiver;
  const { activity, tracing } = internalsOf(plain).parts;
  tracing.tracer = tracerOf((tracerProvider ?? trace.getTracerProvider()).getTracer(scope));
  activity.observe(measure(plain, (meterProvider ?? metrics.getMeterProvider()).getMeter(scope)));
}
