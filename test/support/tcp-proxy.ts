/** A door in front of a TCP server, for connections that are cut, or on which nothing comes any more. */
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

export interface CuttableProxy {
  readonly port: number;
  /** From now on nothing is passed on, in either direction, and nobody is told. */
  silence(): void;
  /** New connections are passed on again. Those that fell silent stay so, as behind a firewall that has forgotten them. */
  restore(): void;
}

/** Listens in front of a server until the test ends. */
export async function cuttableProxy(host: string, port: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const pairs = new Set<readonly [Socket, Socket]>();
  let isSilent = false;
  const kept = (socket: Socket): void => {
    sockets.add(socket);
    // A client or server that goes away is no failure of this test.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const proxy = createServer((inner) => {
    kept(inner);
    if (isSilent) return;
    const outer = connect(port, host);
    kept(outer);
    const pair = [inner, outer] as const;
    pairs.add(pair);
    inner.pipe(outer);
    outer.pipe(inner);
    inner.on('close', () => outer.destroy());
    outer.on('close', () => inner.destroy());
    inner.on('close', () => pairs.delete(pair));
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return {
    port: (proxy.address() as AddressInfo).port,
    silence() {
      isSilent = true;
      for (const [inner, outer] of pairs) {
        inner.unpipe(outer).pause();
        outer.unpipe(inner).pause();
      }
    },
    restore() {
      isSilent = false;
    },
  };
}
