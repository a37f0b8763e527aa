import { type MeterProvider, type TracerProvider, metrics, trace } from '@opentelemetry/api';
import { z } from 'zod';
import { hasMethods, parseStrictly } from '../errors/option-problems.ts';
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

const optionsSchema = z.strictObject({
  tracerProvider: z
    .custom<TracerProvider>(
      (value) => hasMethods(value, ['getTracer']),
      'a TracerProvider, with the method getTracer',
    )
    .optional(),
  meterProvider: z
    .custom<MeterProvider>(
      (value) => hasMethods(value, ['getMeter']),
      'a MeterProvider, with the method getMeter',
    )
    .optional(),
});

/** The instrumentation scope of spans and metrics. */
const scope = 'ringback';

/**
 * Creates spans and metrics of a receiver with OpenTelemetry: a span for each delivery, and one for each attempt of a
 * handler, linked to the delivery's, however much later and in whichever process it runs. What a handler calls is
 * part of its attempt. Spans contain names and the ids of event and call, but nothing else of an event, and no error
 * messages.
 *
 * @throws ConfigError for another value than a receiver, and for invalid options
 * @example
 * import { instrument } from 'ringback/otel';
 * instrument(receiver); // after the SDK was started, and before the receiver is
 */
export function instrument<Transaction>(
  receiver: Receiver<Transaction>,
  options: InstrumentOptions = {},
): void {
  const plain = receiver as unknown as Receiver;
  const { tracerProvider, meterProvider } = parseStrictly(optionsSchema, options, 'instrument');
  const { activity, tracing } = internalsOf(plain).parts;
  tracing.tracer = tracerOf((tracerProvider ?? trace.getTracerProvider()).getTracer(scope));
  activity.observe(measure(plain, (meterProvider ?? metrics.getMeterProvider()).getMeter(scope)));
}
