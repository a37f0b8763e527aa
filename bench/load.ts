/**
 * The load, in a process of its own: keep-alive connections that each send a delivery, wait for its answer,
 * and send the next. Deliveries are signed beforehand and written from prepared bytes, and answers are read
 * without an HTTP parser, so that the generator takes as little of the machine as it can; its share is printed.
 */
import { createConnection, type Socket } from 'node:net';
import { sign } from '../src/index.ts';
import { type BodyName, bodyOf } from './bodies.ts';
import { layout, secret } from './servers/common.ts';

/** What one run of the load is asked for. */
export interface LoadOrder {
  readonly port: number;
  readonly connections: number;
  readonly body: BodyName;
  readonly seconds: number;
  /** Told apart from every other run's, so that no trace id comes twice. */
  readonly run: string;
  /** How many deliveries to prepare: more than can be sent. */
  readonly most: number;
  /** Deliveries a second over all connections; 0 sends as fast as answers come. */
  readonly pace: number;
}

/** What came of it. Times in milliseconds. */
export interface LoadReport {
  readonly answered: number;
  readonly refused: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** Part of one core that the load itself used. */
  readonly cpu: number;
}

process.once('message', (order: LoadOrder) => {
  void run(order).then((report) => process.send?.(report, () => process.exit(0)));
});

async function run(order: LoadOrder): Promise<LoadReport> {
  const prepared = Array.from({ length: order.most }, (_, index) => prepare(order, `${order.run}-${index}`));
  const latencies: number[] = [];
  let next = 0;
  let refused = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1_000;
  const cpuBefore = process.cpuUsage();

  const take = (): Buffer | undefined => {
    const isOver = next >= prepared.length || performance.now() >= endsAt;
    if (isOver) return undefined;
    next += 1;
    return prepared[next - 1];
  };
  const onAnswer = (latency: number, isAccepted: boolean) => {
    latencies.push(latency);
    if (!isAccepted) refused += 1;
  };
  const gap = order.pace > 0 ? (1_000 * order.connections) / order.pace : 0;
  await Promise.all(Array.from({ length: order.connections }, () => drive(order.port, gap, take, onAnswer)));

  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  latencies.sort((left, right) => left - right);
  const at = (part: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? 0;
  return {
    answered: latencies.length,
    refused,
    rate: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    longest: at(1),
    cpu: (user + system) / 1e6 / seconds,
  };
}

function prepare({ port, body: name }: LoadOrder, id: string): Buffer {
  const body = bodyOf(name, id);
  const headers = Object.entries({
    host: `bench.example:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'x-webhook-event': 'CallHandler.CallEnded',
    ...sign(body, { secrets: secret, layout, traceId: `trace-${id}` }),
  });
  const lines = headers.map(([header, value]) => `${header}: ${value}\r\n`).join('');
  return Buffer.from(`POST /hook HTTP/1.1\r\n${lines}\r\n${body}`);
}

/** One connection: sends, waits for the whole answer, and goes on until there is nothing left to send. */
function drive(
  port: number,
  gap: number,
  take: () => Buffer | undefined,
  onAnswer: (latency: number, isAccepted: boolean) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
    let sentAt = 0;
    let received = '';
    const send = () => {
      const delivery = take();
      if (!delivery) {
        socket.end();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(delivery);
    };
    socket.on('connect', send).on('error', reject);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!isWhole(received)) return;
      const latency = performance.now() - sentAt;
      onAnswer(latency, received.startsWith('HTTP/1.1 200'));
      received = '';
      if (gap > latency) setTimeout(send, gap - latency);
      else send();
    });
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1];
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length);
}
