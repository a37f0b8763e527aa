/** The SDK calls samplers and processors of the app, and passes on what they throw. What is traced or measured must not fail by it. */
import {
  type Context,
  INVALID_SPAN_CONTEXT,
  type Span,
  type SpanOptions,
  type Tracer,
  diag,
  trace,
} from '@opentelemetry/api';

/** Begins a span. If that fails, what is called within goes on as a part of the span around it. */
export function beginSpan(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
  const around = () => trace.wrapSpanContext(trace.getSpanContext(parent) ?? INVALID_SPAN_CONTEXT);
  return withoutThrowing(() => tracer.startSpan(name, options, parent)) ?? around();
}

/** Ends a span. */
export function endSpan(span: Span): void {
  withoutThrowing(() => span.end());
}

/** Undefined if it fails, which is told to whoever has set the SDK's own logger. */
export function withoutThrowing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    try {
      diag.error('ringback: what happened could not be traced or measured', error);
    } catch {
      // That logger is the only place to report it.
    }
    return undefined;
  }
}
