import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Both ends of a connection that goes through the proxy. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** The messages that begin a statement: Parse and Query. */
const beginsStatement = new Set<number | undefined>(['P', 'Q'].map((letter) => letter.charCodeAt(0)));

/** A proxy in front of a database, for disturbing its connections or moving the database. */
export class TcpProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #target = 0;
  #cutsAtCommit = 0;
  #isSilent = false;
  #isHolding = false;
  #attempts = 0;
  #statements = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#connected(client));
  }

  static async start(): Promise<TcpProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server);
  }

  /** A proxy in front of a server, and how to connect through it. */
  static async inFrontOf(
    connectionString: string,
  ): Promise<{ readonly proxy: TcpProxy; readonly connectionString: string }> {
    const proxy = await TcpProxy.start();
    const url = new URL(connectionString);
    proxy.target = Number(url.port);
    url.port = String(proxy.port);
    return { proxy, connectionString: url.href };
  }

  /** Sends new connections to this port, and ends the present ones. */
  set target(port: number) {
    this.#target = port;
    this.cut();
  }

  /** How many connections were ever tried. */
  get attempts(): number {
    return this.#attempts;
  }

  /** How many statements were sent, roughly: how often a message began one. */
  get statements(): number {
    return this.#statements;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Ends the chosen connections. */
  cut(isChosen: () => boolean = () => true): void {
    for (const { client, server } of this.#pairs) {
      if (!isChosen()) continue;
      client.destroy();
      server.destroy();
    }
  }

  /** Ends the receivers' side of the chosen connections. The database's side ends only after `ms`. */
  cutSilently(isChosen: () => boolean, ms: number): void {
    for (const pair of this.#pairs) {
      if (!isChosen()) continue;
      this.#pairs.delete(pair);
      pair.server.removeAllListeners('close');
      pair.server.unpipe(pair.client);
      pair.server.resume();
      pair.client.unpipe(pair.server);
      pair.client.removeAllListeners('close');
      pair.client.destroy();
      setTimeout(() => pair.server.destroy(), ms);
    }
  }

  /** Ends the connections of the next answers to COMMIT instead of passing these on. */
  cutAtCommit(count: number): void {
    this.#cutsAtCommit += count;
  }

  /**
   * Passes nothing on, without closing anything, until the returned function is called. The present connections stay
   * silent for ever, as behind a firewall that has forgotten them.
   */
  silence(): () => void {
    this.#isSilent = true;
    for (const { client, server } of this.#pairs) {
      client.unpipe(server).pause();
      server.pause();
    }
    return () => {
      this.#isSilent = false;
    };
  }

  /** Passes no answer on, as a database that is slow, until the returned function is called. */
  holdAnswers(): () => void {
    this.#isHolding = true;
    for (const { server } of this.#pairs) server.pause();
    return () => {
      this.#isHolding = false;
      for (const { server } of this.#pairs) server.resume();
    };
  }

  /** Lets nothing through for a while. */
  freeze(ms: number): void {
    const frozen = [...this.#pairs];
    for (const { client, server } of frozen) {
      client.pause();
      server.pause();
    }
    setTimeout(() => {
      for (const { client, server } of frozen) {
        client.resume();
        server.resume();
      }
    }, ms);
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #connected(client: Socket): void {
    this.#attempts += 1;
    if (this.#isSilent) return void client.on('error', () => {});
    const server = connect(this.#target, '127.0.0.1');
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        server.destroy();
        this.#pairs.delete(pair);
      });
    }
    client.on('data', (chunk: Buffer) => {
      if (beginsStatement.has(chunk[0])) this.#statements += 1;
    });
    client.pipe(server);
    server.on('data', (chunk: Buffer) => {
      if (this.#cutsAtCommit > 0 && chunk.includes('COMMIT\0')) {
        this.#cutsAtCommit -= 1;
        client.destroy();
        server.destroy();
      } else client.write(chunk);
    });
    if (this.#isHolding) server.pause();
  }
}
