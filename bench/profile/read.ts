import { readFileSync } from 'node:fs';
import type { Group } from './groups.ts';
import { type Place, type ProfileNode, placesOf } from './places.ts';

/** The part of V8's profile format that is used here. Times are in microseconds. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** On the clock of `process.hrtime`. */
  readonly startTime: number;
  /** Since the sample before, and for the first since the start. */
  readonly timeDeltas: readonly number[];
}

/** A time in milliseconds on the clock of `process.hrtime`. */
export interface Span {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Where one thread's time went, in milliseconds. */
export interface ThreadTimes {
  readonly name: string;
  readonly total: number;
  readonly byGroup: ReadonlyMap<Group, number>;
  readonly byFunction: ReadonlyMap<string, number>;
}

const mainThread = 'main thread';
const unknown: Place = { group: 'outside JavaScript', name: '(unknown)', waits: 0 };

/** Reads the times of one thread within a span from the profile that Node wrote for it. */
export function readProfile(file: string, { startedAt, endedAt }: Span): ThreadTimes {
  const { nodes, samples, startTime, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const places = placesOf(nodes);
  const byGroup = new Map<Group, number>();
  const byFunction = new Map<string, number>();
  let total = 0;
  let now = startTime / 1_000;
  for (const [index, id] of samples.entries()) {
    const time = (timeDeltas[index] ?? 0) / 1_000;
    now += time;
    if (now < startedAt || now > endedAt) continue;
    const { group, name, waits } = places.get(id) ?? unknown;
    add(byGroup, group, time * (1 - waits));
    add(byFunction, name, time * (1 - waits));
    if (waits > 0) {
      add(byGroup, 'idle', time * waits);
      add(byFunction, `(waiting) ← ${name}`, time * waits);
    }
    total += time;
  }
  const name = threadName(nodes);
  // Workers may start later and end earlier. Were the clocks different, the span would lie elsewhere.
  const covers = startTime / 1_000 <= startedAt && now >= endedAt;
  if (name === mainThread && !covers) throw new Error('The profile does not cover the measured load');
  return { name, total, byGroup, byFunction };
}

function add<Key>(times: Map<Key, number>, key: Key, time: number): void {
  times.set(key, (times.get(key) ?? 0) + time);
}

/** A worker is named after its file, such as `writer-worker.js`. */
function threadName(nodes: readonly ProfileNode[]): string {
  const files = nodes.map(({ callFrame }) => /\/([a-z]+)-worker\.[jt]s$/.exec(callFrame.url)?.[1]);
  const worker = files.find((name) => name !== undefined);
  return worker === undefined ? mainThread : `${worker} thread`;
}
