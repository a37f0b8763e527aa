/**
 * What spans cost by themselves: (b), whose handler makes by hand those that an instrumented receiver makes of a
 * delivery with one attempt, with the same attributes. It stores nothing. See `instruments.ts` for `--traced` and
 * `--sampled`; without them it makes none.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
  type SpanContext,
  type Tracer,
  ROOT_CONTEXT,
  SpanKind,
  TraceFlags,
  context,
  trace,
} from '@opentelemetry/api';
import express from 'express';
import { serve } from './common.ts';
import { startTracing } from './instruments.ts';

const byHand = (await startTracing())?.getTracer('by hand');

const app = express();
app.post('/hook', express.raw({ type: () => true, inflate: false }), (_request, response) => {
  const answer = () => response.json({ status: 'accepted' });
  if (byHand) {
    const traceId = randomUUID();
    const received = receive(byHand, traceId, answer);
    setImmediate(() => attempt(byHand, traceId, received));
  } else answer();
});
serve(createServer(app));

const system = { 'messaging.system': 'ringback' };

function operation(name: string) {
  return { 'messaging.operation.name': name, 'messaging.operation.type': name };
}

function receive(tracer: Tracer, traceId: string, answer: () => void): SpanContext {
  const attributes = { ...system, ...operation('receive') };
  const span = tracer.startSpan('receive', { kind: SpanKind.CONSUMER, attributes });
  context.with(trace.setSpan(context.active(), span), answer);
  span.setAttributes({ 'messaging.message.id': traceId, 'ringback.outcome': 'accepted' });
  span.end();
  return span.spanContext();
}

/** Nothing of a delivery that was not sampled, as in the receiver. */
function attempt(tracer: Tracer, traceId: string, received: SpanContext): void {
  if ((received.traceFlags & TraceFlags.SAMPLED) === 0) return;
  const attributes = {
    ...system,
    ...operation('process'),
    'messaging.message.id': traceId,
    'messaging.message.conversation_id': 'call',
    'messaging.consumer.group.name': 'handler-0',
    'ringback.event.name': 'CallHandler.CallEnded',
    'ringback.attempt': 1,
  };
  const options = { kind: SpanKind.CONSUMER, root: true, links: [{ context: received }], attributes };
  const span = tracer.startSpan('process handler-0', options, ROOT_CONTEXT);
  const within = trace.setSpan(ROOT_CONTEXT, span);
  context.with(within, () => {});
  tracer.startSpan('settle', { attributes: { ...system, ...operation('settle') } }, within).end();
  span.setAttribute('ringback.outcome', 'done');
  span.end();
}
