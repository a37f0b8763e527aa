import { createServer, type RequestListener, type Server } from 'node:http';

/**
 * A server that ends no idle connection by itself: a client on a busy machine may send a request into one that is just
 * being closed, and get no answer.
 */
export function serverWithoutIdleTimeout(listener: RequestListener): Server {
  return createServer({ keepAliveTimeout: 0 }, listener);
}
