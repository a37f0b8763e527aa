/**
 * What tests share is made in the process that starts the workers, when the first test asks for it: a run of tests that need
 * none of it waits for none. The workers ask over loopback, because they may not make the same twice.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where workers ask, until it is closed. */
export interface Door {
  readonly address: string;
  readonly close: () => void;
}

/** Opens a door at which each path is answered with the text that its maker has made, once for all. */
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
 * What is behind a door, once it is made.
 *
 * @throws Error with what was wrong, if it could not be made
 */
export async function askAtDoor(address: string, path: string): Promise<string> {
  const response = await fetch(`${address}${path}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
