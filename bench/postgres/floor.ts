/** The CPU time of a delivery with (g) and (h), which bounds the ratio of their rates, and the profile of each. */
import { servers } from '../compare/servers.ts';
import type { Part } from '../peers/peers.ts';
import { sum } from '../profile/cores.ts';
import { type CoreColumn, coreTable, inAlternation } from '../profile/floor.ts';
import { profileOf } from '../profile/profile.ts';

const columns: readonly CoreColumn[] = [
  ['main thread', ({ main }) => main, 'ran'],
  ['in line for a core', ({ main }) => main, 'stoodInLine'],
  ['other threads', ({ second, others }) => sum(second, others), 'ran'],
  ['Postgres', ({ database }) => database, 'ran'],
];

/** Measures (h), (g), and for comparison (e), whose inbox doesn't use Postgres. */
export async function measureFloor(): Promise<Part> {
  const { e, g, h } = servers;
  const lines: string[] = [];
  for (const connections of [32, 128]) {
    const measured = await inAlternation([h, g, e], { connections });
    lines.push(`## Where the time goes, ${connections} connections`, '', ...coreTable(measured, columns));
  }
  for (const server of [h, g])
    lines.push(...(await profileOf({ server, load: '32 connections', connections: 32 })));
  return { targets: [], lines };
}
