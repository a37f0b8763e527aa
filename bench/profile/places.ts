import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Group, groupOf } from './groups.ts';

/** A function with its callers. */
export interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
  /** How many of its own samples were at which line of its script. */
  readonly positionTicks?: readonly { readonly line: number; readonly ticks: number }[];
}

/** The place that a function is counted under. */
export interface Place {
  readonly group: Group;
  readonly name: string;
  /** The part of its own time in which it waited. */
  readonly waits: number;
}

/** The place of each node. A native function has the group of its nearest caller with a script, and names it. */
export function placesOf(nodes: readonly ProfileNode[]): ReadonlyMap<number, Place> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const found = new Map<number, Place>();
  const waiting: { node: ProfileNode; group: Group; caller: string }[] = [];
  const [root] = nodes;
  if (root) waiting.push({ node: root, group: 'outside JavaScript', caller: '' });
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { functionName, url, lineNumber } = next.node.callFrame;
    const group = groupOf(functionName, url) ?? next.group;
    const own = functionName === '' ? '(anonymous)' : functionName;
    const script = url.replace(/^.*\/(?=[^/]+\/[^/]+$)/, '');
    const name = url === '' ? `${own}${next.caller}` : `${own} ${script}:${lineNumber + 1}`;
    found.set(next.node.id, { group, name, waits: waitingPart(next.node) });
    const caller = url === '' ? next.caller : ` ← ${own} ${script}`;
    for (const id of next.node.children ?? []) {
      const node = byId.get(id);
      if (node) waiting.push({ node, group, caller });
    }
  }
  return found;
}

/**
 * The part of a function's own samples that stand at a line with `Atomics.wait`. V8 compiles that call into its caller,
 * so that a thread which sleeps there looks as if it worked.
 */
function waitingPart({ callFrame, positionTicks = [] }: ProfileNode): number {
  const lines = waitingLines(callFrame.url);
  if (lines.size === 0) return 0;
  const all = positionTicks.reduce((sum, { ticks }) => sum + ticks, 0);
  const atWaits = positionTicks.reduce((sum, { line, ticks }) => sum + (lines.has(line) ? ticks : 0), 0);
  return all === 0 ? 0 : atWaits / all;
}

const linesOfScripts = new Map<string, ReadonlySet<number>>();

/** The numbers of a script's lines that call `Atomics.wait`. */
function waitingLines(url: string): ReadonlySet<number> {
  const known = linesOfScripts.get(url);
  if (known) return known;
  // Node's own scripts aren't files, and the app file of (f) is removed with its database.
  const file = url.startsWith('file:') ? fileURLToPath(url) : '';
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const found = text
    .split('\n')
    .flatMap((line, index) => (line.includes('Atomics.wait(') ? [index + 1] : []));
  const lines = new Set(found);
  linesOfScripts.set(url, lines);
  return lines;
}
