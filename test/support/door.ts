/**
 * Makes things that tests share, in the process that starts the workers, when the first test asks for them. Workers ask
 * over loopback, so that each thing is made only once, and none that no test needs.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

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
      (text) => response.end(text),
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
  const response = await fetch(`${address}${path}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
