import { readFileSync } from 'node:fs';
import { type Group, groupOf } from './groups.ts';

/** The part of V8's profile format that is used here. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

/** Where one thread's time went, in milliseconds. */
export interface ThreadTimes {
  readonly total: number;
  readonly byGroup: ReadonlyMap<Group, number>;
  readonly byFunction: ReadonlyMap<string, number>;
}

/** Reads the times of one thread from the profile that Node wrote for it. */
export function readProfile(file: string): ThreadTimes {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const placeOf = places(nodes, byId);
  const byGroup = new Map<Group, number>();
  const byFunction = new Map<string, number>();
  let total = 0;
  for (const [index, id] of samples.entries()) {
    const time = (timeDeltas[index] ?? 0) / 1_000;
    const { group, name } = placeOf.get(id) ?? { group: 'outside JavaScript', name: '(unknown)' };
    byGroup.set(group, (byGroup.get(group) ?? 0) + time);
    byFunction.set(name, (byFunction.get(name) ?? 0) + time);
    total += time;
  }
  return { total, byGroup, byFunction };
}

/**
 * The group and the name of each node. A native function has the group of its nearest caller with a script, and names
 * it.
 */
function places(nodes: readonly ProfileNode[], byId: ReadonlyMap<number, ProfileNode>) {
  const found = new Map<number, { group: Group; name: string }>();
  const waiting: { node: ProfileNode; group: Group; caller: string }[] = [];
  const [root] = nodes;
  if (root) waiting.push({ node: root, group: 'outside JavaScript', caller: '' });
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { functionName, url, lineNumber } = next.node.callFrame;
    const group = groupOf(functionName, url) ?? next.group;
    const own = functionName === '' ? '(anonymous)' : functionName;
    const script = url.replace(/^.*\/(?=[^/]+\/[^/]+$)/, '');
    const name = url === '' ? `${own}${next.caller}` : `${own} ${script}:${lineNumber + 1}`;
    found.set(next.node.id, { group, name });
    const caller = url === '' ? next.caller : ` ← ${own} ${script}`;
    for (const id of next.node.children ?? []) {
      const node = byId.get(id);
      if (node) waiting.push({ node, group, caller });
    }
  }
  return found;
}
