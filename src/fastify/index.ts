/**
 * The public entry `ringback/fastify`. It needs the package `fastify`, which the app has.
 *
 * @module ringback/fastify
 */
import type { FastifyPluginCallback, onRequestHookHandler } from 'fastify';
import { configError } from '../errors/errors.ts';
import { hasMethods } from '../errors/option-problems.ts';
import type { Receiver } from '../receiver/receiver.ts';

/** Options of `receiverPlugin`. Fastify's own `prefix` is the path. */
export interface ReceiverPluginOptions {
  /** A receiver made by `createReceiver`. */
  readonly receiver: Pick<Receiver, 'nodeHandler'>;
}

/**
 * The receiver as a plugin of Fastify 4 and 5. It answers every request at its prefix and below. Fastify's parsers
 * and limits don't apply to deliveries, so other routes keep theirs; the app's hooks do apply.
 *
 * @example
 * import { receiverPlugin } from 'ringback/fastify';
 * app.register(receiverPlugin, { prefix: '/webhooks/calls', receiver });
 */
export const receiverPlugin: FastifyPluginCallback<ReceiverPluginOptions> = (app, { receiver }, done) => {
  // Checked here, because otherwise the first delivery would find it, and get no answer: its reply is hijacked.
  if (!hasMethods(receiver, ['nodeHandler']))
    return done(
      configError('option_invalid', {
        option: 'receiver of receiverPlugin',
        expected: 'what createReceiver has returned',
        found: `of type ${receiver === null ? 'null' : typeof receiver}`,
      }),
    );
  const listener = receiver.nodeHandler();
  // The first hook is called before Fastify reads the body: the signature is over the raw bytes.
  const onRequest: onRequestHookHandler = (request, reply) => {
    reply.hijack();
    // Fastify doesn't expose its `trustProxy`, so only the receiver's own setting counts.
    listener(request.raw, reply.raw);
  };
  for (const path of ['/', '/*']) app.all(path, { onRequest }, () => {});
  done();
};
