/** Measures the memory of a receiver that has received deliveries for a long time. */
import { join } from 'node:path';
import { inFolder, littleMemory } from '../processes.ts';
import { measuredOn, median, publish } from '../report.ts';
import { type Target, targetTable } from '../targets.ts';
import { type Look, fill, lookTable } from './fill.ts';

const standardEvents = 5_000_000;
/** After this part of the events, memory must not grow any more. */
const grownPart = 0.2;
/** The memory at a point is the median of this many samples before it, because garbage collection moves each. */
const looksBefore = 4;
/** By how much two figures may differ without counting as growth, in megabytes. */
const memoryNoise = 10;

/** Fills an inbox and samples the server's memory. Only a run of the standard size writes a file. */
export async function measureMemory(asked: string | undefined): Promise<void> {
  const events = asked === undefined ? standardEvents : Number(asked);
  if (!Number.isInteger(events) || events < 20_000) throw new Error('--events takes a number from 20000');
  const found = await inFolder((folder) => fill(join(folder, 'memory.db'), events));
  const fewer = Math.ceil(events * grownPart);
  const byDefault = await inFolder((folder) => fill(join(folder, 'memory.db'), fewer, {}));
  const flags = [...littleMemory.nodeFlags, `MALLOC_ARENA_MAX=${littleMemory.environment.MALLOC_ARENA_MAX}`];
  const lines = [
    '# Results for memory',
    '',
    `${measuredOn()} ${events} events of 0.4 KB, with ${flags.join(' and ')}.`,
    '',
    '## Targets',
    '',
    ...targetTable(memoryTargets(found, events)),
    `Without these settings, the RSS is ${Math.round(memoryAt(byDefault, 1))} MB after ${fewer} events.`,
    '',
    ...lookTable(found),
  ];
  publish(lines, events === standardEvents ? 'results-memory.md' : undefined);
}

/** In megabytes, when a part of the events is stored. */
function memoryAt(found: readonly Look[], part: number): number {
  const end = Math.round(found.length * part);
  return median(found.slice(Math.max(0, end - looksBefore), end).map(({ memory }) => memory));
}

function memoryTargets(found: readonly Look[], events: number): Target[] {
  const problem = found.find((look) => look.problem !== undefined)?.problem;
  const most = { bound: 'at most', unit: 'MB', problem } as const;
  return [
    { name: `RSS after ${events} events`, value: 200, reached: memoryAt(found, 1), ...most },
    {
      name: `growth of the RSS over the last ${events * (1 - grownPart)} of them`,
      value: memoryNoise,
      reached: memoryAt(found, 1) - memoryAt(found, grownPart),
      ...most,
    },
  ];
}
