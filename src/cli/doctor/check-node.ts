import { type Finding, finding } from './finding.ts';

/** The oldest Node that Ringback runs on. */
const needed = [22, 14] as const;

/** Whether Ringback runs on this Node, which is usually the one that the receiver is started with as well. */
export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > needed[0] || (major === needed[0] && minor >= needed[1]);
  return isEnough
    ? finding('node', 'ok', `Node ${version}`)
    : finding(
        'node',
        'wrong',
        `Node ${version}, but Ringback needs ${needed.join('.')} or later: install a current one.`,
      );
}
