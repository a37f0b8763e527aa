import { once } from 'node:events';
import { Agent, createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Random } from '../../../src/kit/clock.ts';

/** How long one receiver may take, in milliseconds: the sender waits for longer. */
const answerTimeout = 1_500;

export interface BalancerOptions {
  /** Where receivers listen. */
  readonly ports: () => readonly number[];
  readonly random: Random;
  /** Called when a receiver hasn't answered a delivery, which it may have nevertheless, and the next one is asked. */
  readonly onAskedAgain: (traceId: string) => void;
}

interface Answered {
  readonly status: number;
  readonly body: Buffer;
}

/** Hands each delivery to a receiver by chance, and to the next one if that doesn't answer or is not able to. */
export class Balancer {
  readonly url: string;
  readonly #server: Server;
  readonly #agent: Agent;

  private constructor(server: Server, agent: Agent) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    this.#server = server;
    this.#agent = agent;
  }

  static async start(options: BalancerOptions): Promise<Balancer> {
    const agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const server = createServer((incoming, response) => {
      void buffer(incoming)
        .then((body) => answered(agent, options, incoming.headers, body))
        .then(({ status, body }) => response.writeHead(status).end(body))
        .catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Balancer(server, agent);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }
}

async function answered(
  agent: Agent,
  { ports, random, onAskedAgain }: BalancerOptions,
  headers: IncomingHttpHeaders,
  body: Buffer,
): Promise<Answered> {
  let last: Answered = { status: 503, body: Buffer.from('{}') };
  for (const [index, port] of shuffled(ports(), random).entries()) {
    if (index > 0) onAskedAgain(String(headers['x-webhook-traceid']));
    const answer = await ask(agent, port, headers, body).catch(() => undefined);
    if (answer && answer.status < 500) return answer;
    last = answer ?? last;
  }
  return last;
}

function ask(agent: Agent, port: number, headers: IncomingHttpHeaders, body: Buffer): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { agent, host: '127.0.0.1', port, method: 'POST', headers, timeout: answerTimeout },
      (response) => {
        buffer(response).then(
          (content) => resolve({ status: response.statusCode ?? 500, body: content }),
          reject,
        );
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in time')));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item);
}
