import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ringbackError } from '../errors/errors.ts';
import { messageOf } from '../kit/error-text.ts';

/**
 * How many connections may wait to be accepted; the system may allow fewer. Node accepts one per turn of its event
 * loop, so a burst soon fills its default of 511. The system then drops new connections, which the senders try again
 * after a second: all the time that the platform gives.
 */
const backlog = 4_096;

/**
 * Resolves once a server listens.
 *
 * @throws RingbackError `port_in_use` or `listen_failed`
 */
export function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    // It stays: without a listener, a connection that the system can't accept would end the process.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      const cause = messageOf(error);
      reject(
        isTaken
          ? ringbackError('port_in_use', { host, port })
          : ringbackError('listen_failed', { host, port, cause }),
      );
    });
    server.listen({ port, host, backlog }, () => resolve());
  });
}

/** The URL at which a server listens, without a path. If port 0 was requested, it has the actual port. */
export function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
