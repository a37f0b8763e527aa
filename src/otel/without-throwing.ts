/** The SDK passes on what the app's samplers and processors throw. That must not make deliveries and attempts fail. */
import {
  type Context,
  INVALID_SPAN_CONTEXT,
  type Span,
  type SpanOptions,
  type Tracer,
  diag,
  trace,
} from '@opentelemetry/api';

/** Begins a span. If that fails, returns one that stands for the parent. */
export function beginSpan(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
  const around = () => trace.wrapSpanContext(trace.getSpanContext(parent) ?? INVALID_SPAN_CONTEXT);
  return withoutThrowing(() => tracer.startSpan(name, options, parent)) ?? around();
}

export function endSpan(span: Span): void {
  withoutThrowing(() => span.end());
}

/** Returns undefined if `work` throws, and reports that to the SDK's diagnostic logger. */
export function withoutThrowing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    try {
      diag.error('ringback: tracing or measuring failed', error);
    } catch {
      // That logger is the only place to report it.
    }
    return undefined;
  }
}
