import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { Script } from '../support/process.ts';
import type { ReceiverProcessOptions } from './receiver-process.ts';

const script = fileURLToPath(new URL('./receiver-process.ts', import.meta.url));
const nobodyThere = 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/**
 * A receiver behind a proxy, as in production: the address stays the same when the process ends and another starts.
 * While there is no process, the proxy answers 502: nobody has a delivery that was answered so.
 */
export class ReceiverBehindFront {
  readonly #options: ReceiverProcessOptions;
  readonly #front: Front;
  #process: Script | undefined;

  constructor(front: Front, options: ReceiverProcessOptions) {
    this.#front = front;
    this.#options = options;
  }

  /** Starts a process; resolves when deliveries reach it. */
  async start(): Promise<void> {
    this.#process = new Script(script, JSON.stringify(this.#options));
    const { port } = await this.#process.line('port');
    this.#front.port = Number(port);
  }

  /** Ends the process as a crash would, in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#front.port = undefined;
    await this.#process?.kill();
  }

  /** Asks the process to stop; resolves to its exit code. */
  async stop(): Promise<number | null | undefined> {
    this.#front.port = undefined;
    return this.#process?.stop();
  }
}

/** A proxy on loopback that passes bytes on, until the test ends. */
export class Front {
  /** The receiver's port; undefined while there is no receiver. */
  port: number | undefined;
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#pass(client));
  readonly #sockets = new Set<Socket>();

  /** Listens on a port that the system chooses; resolves to the address for a subscription. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    onTestFinished(() => {
      this.#server.close();
      for (const socket of this.#sockets) socket.destroy();
    });
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhooks`;
  }

  #pass(client: Socket): void {
    this.#keep(client);
    if (this.port === undefined) {
      client.once('data', () => client.end(nobodyThere));
      return;
    }
    const receiver = connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.#keep(receiver);
    client.pipe(receiver).pipe(client);
    // Bytes that a client has sent reach the receiver even if the client is gone. If the receiver is gone, its clients
    // are disconnected.
    receiver.once('close', () => client.destroy());
    client.once('close', () => receiver.end());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // The 'close' that follows an error is enough.
    socket.on('error', () => {});
  }
}
