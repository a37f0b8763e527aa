import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { ringbackError } from '../../errors/errors.ts';

type Callback = (error: Error) => void;

/** How the message of a refusal begins, by itself or behind another error. */
export const refusalMark = 'network refused in a backtest';

/**
 * Has every connection of this thread fail, as one fails whose other side is gone: with an error that comes later, so that
 * it goes the way for which the app is made. It guards against mistakes, and not against malice: a native module, or
 * another program that the app starts, is not kept from anything.
 */
export function refuseNetwork(): void {
  Object.assign(net.Socket.prototype, { connect: refuseConnection });
  Object.assign(dgram.Socket.prototype, { connect: refuseDatagram, send: refuseDatagram });
  for (const resolver of [dns, dns.Resolver.prototype]) replaceLookups(resolver, refuseLookup);
  for (const resolver of [dns.promises, dns.promises.Resolver.prototype])
    replaceLookups(resolver, rejectLookup);
  globalThis.fetch = (input) => Promise.reject(refusal(hostOf(input)));
  // For those who import these functions by their names.
  syncBuiltinESMExports();
}

function refusal(to: string): Error {
  return ringbackError('network_refused', { to });
}

/** Under `net`, `tls`, `http`, `https`, `http2` and whatever speaks another protocol. */
function refuseConnection(this: net.Socket, ...given: readonly unknown[]): net.Socket {
  return this.destroy(refusal(`a connection to ${destinationOf(given)}`));
}

function refuseDatagram(this: dgram.Socket, ...given: readonly unknown[]): void {
  const error = refusal('a datagram');
  const callback = callbackIn(given);
  process.nextTick(() => (callback ? callback(error) : this.emit('error', error)));
}

function refuseLookup(name: unknown, ...given: readonly unknown[]): void {
  process.nextTick(() => callbackIn(given)?.(refusal(`the address of ${String(name)}`)));
}

function rejectLookup(name: unknown): Promise<never> {
  return Promise.reject(refusal(`the address of ${String(name)}`));
}

function replaceLookups(resolver: object, replacement: (name: unknown) => unknown): void {
  for (const name of Object.getOwnPropertyNames(resolver))
    if (/^(?:lookup|resolve|reverse)/.test(name)) Object.assign(resolver, { [name]: replacement });
}

function callbackIn(given: readonly unknown[]): Callback | undefined {
  const last = given.at(-1);
  return typeof last === 'function' ? (last as Callback) : undefined;
}

/** `connect` takes options, a path, or a port with a host; a list of these comes from `net.connect`. */
function destinationOf([first, second]: readonly unknown[]): string {
  if (Array.isArray(first)) return destinationOf(first);
  const { path, host, port } = typeof first === 'object' && first !== null ? (first as Destination) : {};
  if (typeof path === 'string') return path;
  if (typeof first === 'string' && Number.isNaN(Number(first))) return first;
  const [name, number] = typeof first === 'object' ? [host, port] : [second, first];
  return `${typeof name === 'string' ? name : 'localhost'}:${String(number)}`;
}

interface Destination {
  readonly path?: unknown;
  readonly host?: unknown;
  readonly port?: unknown;
}

/** Nothing else of an address: it may hold ids, or a credential. */
function hostOf(input: string | URL | Request): string {
  const address = input instanceof Request ? input.url : String(input);
  return URL.canParse(address) ? `a request to ${new URL(address).host}` : 'a request';
}
