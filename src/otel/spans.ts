import {
  type Context,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  context,
  isSpanContextValid,
  trace,
} from '@opentelemetry/api';
import { causeOf } from '../dispatch/outcomes.ts';
import { classOf, codeOf } from '../kit/error-text.ts';
import { type AttemptSpan, type TracedAttempt, type Tracer } from '../kit/tracing.ts';
import { beginSpan, endSpan, withoutThrowing } from './without-throwing.ts';
import { isSampled } from './sampling.ts';

/** Spans of deliveries and attempts, named by the semantic conventions for messaging. */
export function tracerOf(tracer: OtelTracer): Tracer {
  return {
    async receive(traceparent, take) {
      const span = beginSpan(tracer, 'receive', receiveOptions, parentOf(traceparent));
      try {
        const taken = await context.with(trace.setSpan(context.active(), span), take);
        const { traceId, status } = taken;
        withoutThrowing(() => {
          if (!span.isRecording()) return;
          span.setAttributes({ 'messaging.message.id': traceId, 'ringback.outcome': status });
        });
        return taken;
      } catch (error) {
        fail(span, codeOf(error) || classOf(error));
        throw error;
      } finally {
        endSpan(span);
      }
    },
    current: () => textOf(trace.getActiveSpan()?.spanContext()),
    attempt: (attempt) => attemptSpan(tracer, attempt),
  };
}

function attemptSpan(tracer: OtelTracer, { traceparent, ...attempt }: TracedAttempt): AttemptSpan {
  const received = spanContextOf(traceparent);
  // The handler's own calls must not begin a new trace either.
  if (received && !isSampled(received)) {
    const within = trace.setSpanContext(ROOT_CONTEXT, received);
    return {
      handle: (work) => context.with(within, work),
      settle: (work) => work(),
      end: () => {},
    };
  }
  const links: Link[] = received ? [{ context: received }] : [];
  // A trace of its own: attempts may be made days after the delivery, and repeatedly.
  const span = beginSpan(
    tracer,
    `process ${attempt.handler}`,
    { kind: SpanKind.CONSUMER, links, attributes: attributesOf(attempt) },
    ROOT_CONTEXT,
  );
  // Not in the active context, which may be that of another delivery that made this attempt begin.
  const within = trace.setSpan(ROOT_CONTEXT, span);
  return {
    handle: (work) => context.with(within, work),
    async settle(work) {
      const settling = beginSpan(tracer, 'settle', settleOptions, within);
      try {
        return await work();
      } catch (error) {
        fail(settling, causeOf(error));
        throw error;
      } finally {
        endSpan(settling);
      }
    },
    end(outcome, cause) {
      withoutThrowing(() => span.setAttribute('ringback.outcome', outcome));
      if (cause !== undefined) fail(span, cause);
      endSpan(span);
    },
  };
}

const system = { 'messaging.system': 'ringback' } as const;

function operation(name: 'receive' | 'process' | 'settle') {
  return { 'messaging.operation.name': name, 'messaging.operation.type': name };
}

const receiveOptions = { kind: SpanKind.CONSUMER, attributes: { ...system, ...operation('receive') } };
const settleOptions = { attributes: { ...system, ...operation('settle') } };
const processAttributes = { ...system, ...operation('process') };

function attributesOf({ traceId, callId, eventName, handler, attempt }: Omit<TracedAttempt, 'traceparent'>) {
  return {
    ...processAttributes,
    'messaging.message.id': traceId,
    ...(callId !== undefined && { 'messaging.message.conversation_id': callId }),
    'messaging.consumer.group.name': handler,
    'ringback.event.name': eventName,
    'ringback.attempt': attempt,
  };
}

/** `cause` is a class or a code: a message may contain anything of an event. */
function fail(span: Span, cause: string): void {
  withoutThrowing(() => {
    span.setAttribute('error.type', cause);
    span.setStatus({ code: SpanStatusCode.ERROR });
  });
}

/** The span of an HTTP server if there is one, else that of the sender if it sent a trace context. */
function parentOf(traceparent: string | undefined): Context {
  const active = context.active();
  const sent = trace.getSpan(active) ? undefined : spanContextOf(traceparent);
  return sent ? trace.setSpanContext(active, sent) : active;
}

/** The `traceparent` of W3C's Trace Context. */
function textOf(spanContext: SpanContext | undefined): string | undefined {
  if (!spanContext || !isSpanContextValid(spanContext)) return undefined;
  const { traceId, spanId, traceFlags } = spanContext;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  if (traceparent === undefined || !/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent))
    return undefined;
  const found = {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53), 16),
    isRemote: true,
  };
  return isSpanContextValid(found) ? found : undefined;
}
