import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { ringbackError } from '../../errors/errors.ts';
import { fieldsOf } from '../../kit/values.ts';

type Callback = (error: Error) => void;

/** The beginning of a refusal's message, also within another error's. */
export const refusalMark = 'network refused in a backtest';

/**
 * Makes every connection of this thread fail like one to a dead host: with a later error, which takes the path that the
 * app has for it. This guards against mistakes, not against malice: native modules and child programs aren't stopped.
 */
export function refuseNetwork(): void {
  Object.assign(net.Socket.prototype, { connect: refuseConnection });
  Object.assign(dgram.Socket.prototype, { connect: refuseDatagram, send: refuseDatagram });
  for (const resolver of [dns, dns.Resolver.prototype]) replaceLookups(resolver, refuseLookup);
  for (const resolver of [dns.promises, dns.promises.Resolver.prototype])
    replaceLookups(resolver, rejectLookup);
  globalThis.fetch = (input) => Promise.reject(refusal(hostOf(input)));
  // For modules that import these functions by name.
  syncBuiltinESMExports();
}

function refusal(to: string): Error {
  return ringbackError('network_refused', { to });
}

/** All of `net`, `tls`, `http`, `https`, `http2` and other protocols' clients connect through this. */
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
  const { path, host, port } = fieldsOf(first);
  if (typeof path === 'string') return path;
  if (typeof first === 'string' && Number.isNaN(Number(first))) return first;
  const [name, number] = typeof first === 'object' ? [host, port] : [second, first];
  return `${typeof name === 'string' ? name : 'localhost'}:${String(number)}`;
}

/** Only the host of an address: the rest may hold ids or a credential. */
function hostOf(input: string | URL | Request): string {
  const url = URL.parse(input instanceof Request ? input.url : String(input));
  return url ? `a request to ${url.host}` : 'a request';
}
