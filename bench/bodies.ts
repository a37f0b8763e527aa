/**
 * Measures how long single large bodies stall the app. Each of the kinds below goes to a server of its own over HTTP,
 * first a small one as a warm-up and then a full one, until three handlers have been called.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { inFolder, serverFile } from './processes.ts';
import { measuredOn, progress, publish, table } from './report.ts';
import { secret } from './servers/common.ts';

/** The default of `limits.body`, less room for the envelope. */
const size = 5 * 1024 ** 2 - 1_000;
/** How often each kind is measured; the median counts. */
const rounds = 3;
/** How long one body may take from its sending until all handlers have been called, in milliseconds. */
const timeout = 60_000;
const handlers = 3;
const nanoseconds = ',"at":1772442942123456789';

const repeated = (item: string, bytes: number) => item.repeat(Math.max(1, Math.floor(bytes / item.length)));
const list = (item: string, bytes: number) => `[${repeated(`${item},`, bytes).slice(0, -1)}]`;
const numbered = (item: (index: number) => string, bytes: number) => {
  const items: string[] = [];
  for (let length = 0; length < bytes; length += (items.at(-1)?.length ?? 0) + 1) {
    items.push(item(items.length));
  }
  return items.join();
};
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const words = (bytes: number) => list('{"word":"hello","start":1234.52,"end":1234.91}', bytes);
/** As many objects as the limit of values allows, or as the bytes hold. */
const allowed = (bytes: number, item: string, values: number) =>
  list(item, Math.min(bytes, Math.floor(499_000 / values) * (item.length + 1)));

/** The JSON of some length that each body has besides the fields of a call that ended. */
const kinds: Readonly<Record<string, (bytes: number) => string>> = {
  'small numbers': (bytes) => `"x":${list('1', bytes)}`,
  'small numbers, a big integer': (bytes) => `"n":9234567890123456,"x":${list('1', bytes)}`,
  'small numbers within the limit': (bytes) => `"x":${allowed(bytes, '1', 1)}`,
  'lists inside lists': (bytes) => `"x":${nested(Math.floor(bytes / 2))}`,
  'lists inside lists within the limit': (bytes) => `"x":${allowed(bytes, nested(990), 990)}`,
  'word timings': (bytes) => `"x":${words(bytes)}`,
  'word timings, a nanosecond': (bytes) => `"x":${words(bytes)}${nanoseconds}`,
  'empty objects, a big integer': (bytes) => `"n":9234567890123456,"x":${list('{}', bytes)}`,
  'empty objects within the limit': (bytes) => `"x":${allowed(bytes, '{}', 1)}`,
  'objects with high numbers as names': (bytes) => `"x":${allowed(bytes, '{"1009":{}}', 2)}`,
  'objects with a name of their own each': (bytes) =>
    `"x":[${numbered((index) => `{"k${index.toString(36)}":1}`, Math.min(bytes, 2_700_000))}]`,
  'one object of many fields': (bytes) => `"x":{${numbered((index) => `"k${index.toString(36)}":1`, bytes)}}`,
  'objects of many fields within the limit': (bytes) =>
    `"x":[${[...Array(Math.ceil(bytes / 215_000)).keys()]
      .map(
        (part) => `{${numbered((index) => `"k${part}_${index.toString(36)}":1`, Math.min(bytes, 195_000))}}`,
      )
      .join()}]`,
  'one string': (bytes) => `"x":"${'a'.repeat(bytes)}"`,
  'one string of escapes': (bytes) => `"x":"${repeated('\\n', bytes)}"`,
  'one string of escaped characters': (bytes) => `"x":"${repeated('\\u4e00', bytes)}"`,
  'one string of backslashes': (bytes) => `"x":"${repeated('\\\\', bytes)}"`,
  'two huge names': (bytes) => `"${'k'.repeat(bytes / 2)}":1,"${'l'.repeat(bytes / 2)}":2`,
  'one integer': (bytes) => `"x":${'9'.repeat(bytes)}`,
  'big integers': (bytes) => `"x":${list('9234567890123456789', bytes)}`,
  'short strings': (bytes) => `"x":${list('"a"', bytes)}`,
  strings: (bytes) => `"x":${list('"abcdefghijklmnop"', bytes)}`,
};

interface Stall {
  /** In milliseconds; `turn` of CPU time. */
  readonly stall: number;
  readonly turn: number;
  readonly answeredIn: number;
  readonly handledIn: number;
  readonly status: string;
}

/** Measures every kind, and prints the table. `nodeFlags` are the server's, such as a limit of its heap. */
export async function measureBodies(only: string | undefined, nodeFlags: readonly string[]): Promise<void> {
  const rows: string[][] = [];
  for (const [name, json] of Object.entries(kinds)) {
    if (only !== undefined && !name.includes(only)) continue;
    const stalls: Stall[] = [];
    for (let round = 0; round < rounds; round += 1) stalls.push(await measureOne(json, nodeFlags));
    const [middle] = stalls.toSorted((left, right) => left.turn - right.turn).slice(rounds / 2);
    if (!middle) continue;
    const figures = [middle.stall, middle.turn, middle.answeredIn, middle.handledIn].map((time) =>
      time.toFixed(0),
    );
    progress(`${name}: ${figures.join(', ')}`);
    rows.push([name, ...figures, middle.status]);
  }
  const head = [
    'a body of',
    'longest stall ms',
    'its CPU time ms',
    'answered in ms',
    'handled in ms',
    'answer',
  ];
  publish([measuredOn(), pageFaults(), '', ...table(head, rows)]);
}

/** A stall is mostly the first access to memory, which may take thirty times as long on a virtual machine. */
function pageFaults(): string {
  const before = process.resourceUsage().minorPageFault;
  const startedAt = performance.now();
  const memory = Buffer.alloc(50 * 1024 ** 2, 1);
  const filled = performance.now();
  memory.fill(2);
  const fresh = filled - startedAt - (performance.now() - filled);
  const faults = process.resourceUsage().minorPageFault - before;
  return `A first touch of a page of memory takes ${((fresh / faults) * 1_000).toFixed(1)} µs.`;
}

function measureOne(json: (bytes: number) => string, nodeFlags: readonly string[]): Promise<Stall> {
  return inFolder(async (folder) => {
    const server = await serverFile('e-mounted.ts')(`${folder}/inbox.db`, {
      arguments: ['--turns', '--handlers', String(handlers)],
      nodeFlags,
    });
    try {
      for (let index = 0; index < 20; index += 1) await post(server.port, json(20_000));
      await post(server.port, json(200_000));
      await wait(500);
      await server.begin();
      const startedAt = performance.now();
      const status = await post(server.port, json(size));
      const answeredIn = performance.now() - startedAt;
      const expected = status === 'accepted' ? handlers : 0;
      while (((await server.handled()) ?? expected) < expected) {
        if (performance.now() - startedAt > timeout) throw new Error('The handlers were not called');
        await wait(20);
      }
      const handledIn = performance.now() - startedAt;
      const report = await server.report();
      const { stall = Number.NaN, turn = Number.NaN } = report ?? {};
      return { stall, turn, answeredIn, handledIn, status };
    } finally {
      await server.end();
    }
  });
}

async function post(port: number, json: string): Promise<string> {
  const ids = `"traceId":"${randomUUID()}","eventName":"CallHandler.CallEnded"`;
  const body = Buffer.from(`{${ids},"payload":{"call_id":"${randomUUID()}",${json}}}`);
  const digest = createHmac('sha256', secret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-webhook-signature': `sha256=${digest}` };
  const response = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body });
  const answer = (await response.json()) as { status?: string; error?: string };
  return answer.status ?? answer.error ?? 'none';
}
