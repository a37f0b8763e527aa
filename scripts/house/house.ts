/**
 * Prints figures of the sources: how many lines and files, how many short files, how long the way of a delivery is, and
 * whether imports are circular. They are for information; no check fails on them.
 *
 *   npm run house
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** A file with fewer lines needs a reason. */
const short = 25;
/** One delivery would be lost among what timers do; ten are not. */
const deliveries = { few: 1, many: 11 };

interface Source {
  readonly path: string;
  readonly lines: number;
}

function sourcesIn(folder: string): readonly Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))
    .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n').length - 1 }));
}

function size(sources: readonly Source[]): string {
  const lines = sources.reduce((sum, source) => sum + source.lines, 0);
  return `${lines.toLocaleString('en')} in ${sources.length}`;
}

function fullestFolder(sources: readonly Source[]): string {
  const counts = new Map<string, number>();
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const [folder, files] = [...counts].toSorted((left, right) => right[1] - left[1])[0] ?? ['none', 0];
  return `${files} (${folder})`;
}

/** How often each of our functions was called while this many deliveries were received, by file and place. */
function callsOf(count: number): Map<string, number> {
  const folder = mkdtempSync(join(tmpdir(), 'house-coverage-'));
  const program = fileURLToPath(new URL('deliveries.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, String(count)], {
    env: { ...process.env, NODE_V8_COVERAGE: folder },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const calls = new Map<string, number>();
  for (const file of readdirSync(folder)) addCalls(calls, readFileSync(join(folder, file), 'utf8'));
  rmSync(folder, { recursive: true });
  return calls;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

/** Adds the calls of one thread. The body of a module counts as a function too, but is called once. */
function addCalls(calls: Map<string, number>, json: string): void {
  const source = new URL('../../src/', import.meta.url).href;
  for (const { url, functions } of (JSON.parse(json) as Coverage).result) {
    if (!url.startsWith(source) || url.startsWith(`${source}testing/`)) continue;
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (!whole) continue;
      const key = `${url.slice(source.length)} ${functionName} ${whole.startOffset}`;
      calls.set(key, (calls.get(key) ?? 0) + whole.count);
    }
  }
}

/** The functions that are called at least once for each delivery. */
function wayOfADelivery(): readonly string[] {
  const few = callsOf(deliveries.few);
  const many = callsOf(deliveries.many);
  const more = deliveries.many - deliveries.few;
  return [...many].filter(([key, count]) => count - (few.get(key) ?? 0) >= more).map(([key]) => key);
}

function importProblems(): string {
  const args = ['depcruise', '--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src'];
  const { stdout } = spawnSync('npx', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
  const { summary } = JSON.parse(stdout) as { summary: { violations: readonly unknown[] } };
  return String(summary.violations.length);
}

const sources = sourcesIn('src');
const way = wayOfADelivery();
const filesOfWay = new Set(way.map((key) => key.split(' ')[0]));
const rows: readonly (readonly [string, string])[] = [
  ['lines and files in src/', size(sources)],
  ['lines and files in src/store/sqlite', size(sourcesIn('src/store/sqlite'))],
  ['most files in one folder', fullestFolder(sources)],
  ['functions and files of one warm delivery', `${way.length} in ${filesOfWay.size}`],
  [`files under ${short} lines`, String(sources.filter(({ lines }) => lines < short).length)],
  ['import cycles, and imports against the ranks', importProblems()],
];
for (const [name, value] of rows) process.stdout.write(`${name.padEnd(46)}${value}\n`);
if (process.argv.includes('--way')) process.stdout.write(`${way.toSorted().join('\n')}\n`);
