/**
 * A pooler in transaction mode, like PgBouncer: a client has a connection to the database for one transaction, and its
 * next one may run on another. Session state of a client is lost, or reaches another client.
 */
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

const sslRequest = 80_877_103;
const startup = 196_608;
const [simpleQuery, sync, terminate, readyForQuery] = ['Q', 'S', 'X', 'Z'];

/** A connection to the database, and the client that uses it. */
interface Backend {
  readonly socket: Socket;
  client: Frontend | undefined;
}

interface Frontend {
  readonly socket: Socket;
  backend: Backend | undefined;
  /** How many answers it still waits for. */
  pending: number;
  readonly waiting: Buffer[];
}

/** Listens until the test ends, and resolves to the URL of the pooler for a database's URL. */
export async function transactionPooler(connectionString: string, size: number): Promise<string> {
  const url = new URL(connectionString);
  const idle: Backend[] = [];
  const queue: Frontend[] = [];
  const sockets = new Set<Socket>();
  const kept = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => sockets.delete(socket));
  };

  const serve = (): void => {
    while (idle.length > 0 && queue.length > 0) {
      // Takes the one that was idle longest, so that a client rarely gets the same one again.
      const [backend, client] = [idle.shift(), queue.shift()];
      if (!backend || !client) return;
      [backend.client, client.backend] = [client, backend];
      backend.socket.write(Buffer.concat(client.waiting.splice(0)));
    }
  };

  const addBackend = async (): Promise<void> => {
    const backend: Backend = { socket: kept(connect(Number(url.port), url.hostname)), client: undefined };
    backend.socket.write(startupMessage({ user: url.username, database: url.pathname.slice(1) }));
    const ready = Promise.withResolvers<void>();
    eachMessage(backend.socket, (type, message) => {
      const { client } = backend;
      client?.socket.write(message);
      if (type !== readyForQuery) return;
      if (client) client.pending -= 1;
      const isInTransaction = message.toString('latin1', 5, 6) !== 'I';
      if (client && (isInTransaction || client.pending > 0)) return;
      if (client) client.backend = undefined;
      backend.client = undefined;
      idle.push(backend);
      serve();
      ready.resolve();
    });
    await ready.promise;
  };

  const server = createServer((socket) => {
    const client: Frontend = { socket: kept(socket), backend: undefined, pending: 0, waiting: [] };
    socket.on('close', () => {
      // No other client may continue the transaction that this one leaves open.
      if (!client.backend) return;
      client.backend.socket.destroy();
      void addBackend();
    });
    afterStartup(socket, () =>
      eachMessage(socket, (type, message) => {
        if (type === simpleQuery || type === sync) client.pending += 1;
        if (type === terminate) socket.end();
        else if (client.backend) client.backend.socket.write(message);
        else {
          client.waiting.push(message);
          if (!queue.includes(client)) queue.push(client);
          serve();
        }
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(Array.from({ length: size }, addBackend));
  url.port = String((server.address() as AddressInfo).port);
  return url.href;
}

/** Calls back with each whole message of the protocol. */
function eachMessage(socket: Socket, onMessage: (type: string, message: Buffer) => void): void {
  let buffered = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 5) {
      const end = 1 + buffered.readUInt32BE(1);
      if (buffered.length < end) return;
      const message = buffered.subarray(0, end);
      buffered = buffered.subarray(end);
      onMessage(message.toString('latin1', 0, 1), message);
    }
  });
}

/** Refuses TLS, and accepts every user. */
function afterStartup(socket: Socket, onStarted: () => void): void {
  const onData = (chunk: Buffer): void => {
    if (chunk.readUInt32BE(4) === sslRequest) return void socket.write('N');
    if (chunk.readUInt32BE(4) !== startup) return void socket.destroy();
    socket.off('data', onData);
    onStarted();
    socket.write(Buffer.concat([messageOf('R', uint32(0)), messageOf('K', uint32(0), uint32(0))]));
    socket.write(messageOf(readyForQuery ?? '', Buffer.from('I')));
  };
  socket.on('data', onData);
}

function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [name, value]);
  const body = Buffer.concat([uint32(startup), Buffer.from(`${pairs.join('\0')}\0\0`)]);
  return Buffer.concat([uint32(body.length + 4), body]);
}

function messageOf(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type, 'latin1'), uint32(body.length + 4), body]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
