/** The metrics of `ringback serve`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { configError } from '../errors/errors.ts';
import type { Middleware } from '../http/express.ts';
import type { Receiver } from '../receiver/receiver.ts';

/** The path of the metrics. */
export const metricsPath = '/metrics';

/**
 * Answers with the metrics of the receiver and of the process, as Prometheus reads them. They hold nothing of an event, so that
 * nobody is asked who wants them.
 *
 * @throws ConfigError `package_missing`
 */
export async function metricsOf(receiver: Receiver): Promise<Middleware> {
  const { Registry, collectDefaultMetrics } = await client();
  const { collectMetrics } = await import('../prometheus/collect-metrics.ts');
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

/** The optional peer dependency: it is loaded when metrics are wanted. */
async function client() {
  try {
    return await import('@prometheus-io/client');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing || !error.message.includes("'@prometheus-io/client'")) throw error;
    throw configError('package_missing', {
      name: '@prometheus-io/client',
      purpose: 'ringback serve --metrics',
    });
  }
}
