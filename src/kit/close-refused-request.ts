import type { IncomingMessage } from 'node:http';

/** How long a refused sender may go on sending before the socket is closed, in milliseconds. */
const lingering = 2_000;

/**
 * Closes a request that was answered before all of it was read, after a while. Its sender may still be sending: closing
 * at once would reset the connection before the sender has read the answer, and reading on without end would let it
 * hold the socket.
 */
export function closeAfterLingering(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), lingering);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
  request.on('error', () => {});
  request.resume();
}
