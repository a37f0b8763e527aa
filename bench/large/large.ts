/**
 * Measures a large inbox. A server fills it through HTTP, so that every row is as a receiver writes it.
 */
import { join } from 'node:path';
import { inFolder } from '../processes.ts';
import { measuredOn, publish } from '../report.ts';
import { bytesPerEvent } from '../rows.ts';
import { targetTable } from '../targets.ts';
import { fill, lookTable } from './fill.ts';
import { measureOpening } from './opening.ts';
import type { Part } from './part.ts';
import { measurePending } from './pending.ts';
import { measureRate } from './rate.ts';

const standardEvents = 10_000_000;

/** Fills an inbox and measures it. Only a run of the standard size writes a file. */
export async function measureLarge(asked: string | undefined): Promise<void> {
  const events = asked === undefined ? standardEvents : Number(asked);
  if (!Number.isInteger(events) || events < 20_000) throw new Error('--events takes a number from 20000');
  const parts = await inFolder(async (folder): Promise<Part[]> => {
    const database = join(folder, 'large.db');
    return [
      await filled(database, events),
      await measureRate(database, events),
      await measureOpening(database, events),
      await measurePending(join(folder, 'pending.db'), Math.ceil(events / 100)),
      sizeOf(database),
    ];
  });
  const title = ['# Results with a large inbox', '', `${measuredOn()} ${events} events of 0.4 KB.`, ''];
  const targets = targetTable(parts.flatMap((part) => part.targets));
  const lines = [...title, '## Targets', '', ...targets, ...parts.flatMap((part) => part.lines)];
  publish(lines, events === standardEvents ? 'results-large.md' : undefined);
}

async function filled(database: string, events: number): Promise<Part> {
  const found = await fill(database, events);
  const longest = Math.max(...found.map(({ stall }) => stall));
  const name = 'longest stall of the event loop while it filled';
  const problem = found.find((look) => look.problem !== undefined)?.problem;
  const target = { name, bound: 'at most', value: 20, unit: 'ms', reached: longest, problem } as const;
  return { targets: [target], lines: lookTable(found) };
}

function sizeOf(database: string): Part {
  const name = 'bytes on disk per 0.4 KB event, indexes included';
  const reached = bytesPerEvent(database) / 1_000;
  return { targets: [{ name, bound: 'at most', value: 1.1, unit: 'KB', hoped: 0.8, reached }], lines: [] };
}
