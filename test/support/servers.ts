import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2Server,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { serverWithoutIdleTimeout } from './server-without-idle-timeout.ts';

/** Listens on a free port of loopback until the test ends; resolves to the port. */
export async function listening(listener: RequestListener): Promise<number> {
  const server = serverWithoutIdleTimeout(listener).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A client of a server of HTTP/2 without TLS; both last until the test ends. */
export async function connectedHttp2(handler: unknown): Promise<ClientHttp2Session> {
  const server = createHttp2Server(handler as never).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => client.destroy());
  return client;
}

/** Answers 101, and closes the connection: a client in Node sees the answer only if it listens for upgrades. */
export function switchProtocols({ socket }: ServerResponse): void {
  socket?.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
}

/** Sends a request with a body without end. Resolves to what came back, once the server has closed the connection. */
export async function uploadedWithoutEnd(port: number, head: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  // It is reset, because there is more to come.
  socket.on('error', () => {});
  socket.write(head);
  const trickle = (): unknown => socket.writable && socket.write('x', () => setImmediate(trickle));
  trickle();
  await new Promise((resolve) => void socket.once('close', resolve));
  return received;
}

/** Sends texts and bytes over a plain socket, and resolves to all that comes back until the other side closes. */
export async function exchanged(
  port: number,
  send: (write: (data: string | Uint8Array) => void) => unknown,
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  // A reset after the answer has been read doesn't change the answer.
  socket.on('error', () => {});
  await once(socket, 'connect');
  await send((data) => socket.write(data));
  await once(socket, 'close');
  return received;
}
