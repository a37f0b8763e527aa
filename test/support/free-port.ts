import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A random port below the ephemeral range, so that no other process is given it by chance meanwhile. */
export function uncommonPort(): number {
  return randomInt(15_000, 32_000);
}

/** A port that was free a moment ago: nobody listens there yet. */
export async function freePort(): Promise<number> {
  const port = uncommonPort();
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  server.close();
  await once(server, 'close');
  return port;
}
