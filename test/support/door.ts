/**
 * Makes things that tests share, in the process that starts the workers, when the first test asks for them. Workers ask
 * over loopback, so that each thing is made only once, and none that no test needs.
 */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A server that workers ask, until it is closed. */
export interface Door {
  readonly address: string;
  readonly close: () => void;
}

/** Opens a door that answers each path with the text of its maker, which is called once. */
export async function openDoor(makers: Readonly<Record<string, () => Promise<string>>>): Promise<Door> {
  const made = new Map<string, Promise<string>>();
  const server = createServer(({ url = '' }, response) => {
    const asked = made.get(url) ?? makers[url]?.() ?? Promise.reject(new Error(`There is nothing at ${url}`));
    made.set(url, asked);
    asked.then(
      (answer) => response.end(answer),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/**
 * Asks at a door, and resolves to the text once it is made.
 *
 * @throws Error with the cause, if it could not be made
 */
export async function askAtDoor(address: string, path: string): Promise<string> {
  // Not `fetch`, which waits no longer than five minutes: a busy machine may take longer to pack the package. A connection
  // of its own, because the server may have closed a kept one while this process compiled for seconds.
  const [response] = (await once(get(`${address}${path}`, { agent: false }), 'response')) as [
    IncomingMessage,
  ];
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(answer);
  return answer;
}
