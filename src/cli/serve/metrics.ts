import type { IncomingMessage, ServerResponse } from 'node:http';
import { importOptional } from '../../errors/optional-package.ts';
import type { Middleware } from '../../http/express.ts';
import type { Receiver } from '../../receiver/receiver.ts';

export const metricsPath = '/metrics';

/** Metrics in Prometheus' format. They hold nothing of an event, so no authentication is needed. */
export async function metricsOf(receiver: Receiver): Promise<Middleware> {
  const { Registry, collectDefaultMetrics } = await importOptional(
    '@prometheus-io/client',
    'ringback serve --metrics',
    () => import('@prometheus-io/client'),
  );
  const { collectMetrics } = await import('../../prometheus/collect-metrics.ts');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  collectMetrics(receiver, registry);
  const answer = async (response: ServerResponse): Promise<void> => {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
  };
  return (_request: IncomingMessage, response) =>
    void answer(response).catch(() => response.writeHead(500).end());
}
