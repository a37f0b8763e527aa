/**
 * The public entry `ringback/fastify`. It needs the package `fastify`, which the app has.
 *
 * @module ringback/fastify
 */
export { type ReceiverPluginOptions, receiverPlugin } from '../http/fastify.ts';
