/** What a delivery takes of the cores with (g) and (h): why one can be only so many times as fast as the other. */
import { servers } from '../compare/servers.ts';
import type { Part } from '../peers/peers.ts';
import { sum } from '../profile/cores.ts';
import { type CoreColumn, coreTable, inAlternation } from '../profile/floor.ts';

const columns: readonly CoreColumn[] = [
  ['main thread', ({ main }) => main, 'ran'],
  ['in line for a core', ({ main }) => main, 'stoodInLine'],
  ['other threads', ({ second, others }) => sum(second, others), 'ran'],
  ['Postgres', ({ database }) => database, 'ran'],
];

/** Measures (h), (g), and beside them (e), whose inbox takes nothing of Postgres. */
export async function measureFloor(): Promise<Part> {
  const { e, g, h } = servers;
  const lines: string[] = [];
  for (const connections of [32, 128]) {
    const measured = await inAlternation([h, g, e], { connections });
    lines.push(`## Where the time goes, ${connections} connections`, '', ...coreTable(measured, columns));
  }
  return { targets: [], lines };
}
