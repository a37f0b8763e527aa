import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TrustProxy } from '../kit/trust-proxy.ts';
import type { Take } from '../events/model.ts';
import { type OnAnswerFailed, answer } from './node.ts';

/** The part of Express's request that the adapter uses; it is the same in versions 4 and 5. */
interface ExpressRequest extends IncomingMessage {
  readonly app?: { get(name: string): unknown };
}

/** A middleware for Express 4 and 5. It answers every request that reaches it and never calls `next`. */
export type Middleware = (request: IncomingMessage, response: ServerResponse, next?: unknown) => void;

/**
 * The receiver as Express middleware. Without a setting of the receiver's own, the app's `trust proxy` decides which
 * proxies are trusted.
 *
 * @example app.use('/webhooks/calls', receiver.middleware())
 */
export function middleware(take: Take, onAnswerFailed: OnAnswerFailed): Middleware {
  return (request: ExpressRequest, response) => {
    const trusts: unknown = request.app?.get('trust proxy fn');
    const appTrustProxy = typeof trusts === 'function' ? (trusts as TrustProxy) : undefined;
    void answer(take, onAnswerFailed, request, response, appTrustProxy);
  };
}
