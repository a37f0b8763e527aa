import { join } from 'node:path';
import { type Start, inFolder, serveCommand, serverFile } from '../processes.ts';
import { median, table } from '../report.ts';
import type { Part } from './part.ts';

const rounds = 5;

/** Milliseconds. */
interface Opening {
  readonly openedIn: number;
  readonly startedIn: number;
}

/**
 * Measures how long a server takes until it listens: from making the receiver, as it reports itself, and from the start
 * of its process, which is mostly Node's own start. For comparison, the same with an empty inbox.
 */
export async function measureOpening(database: string, events: number): Promise<Part> {
  const mounted = serverFile('e-mounted.ts');
  const ofEmpty = (start: Start) => inFolder((folder) => openOften(start, join(folder, 'inbox.db')));
  const openings: [string, Opening][] = [
    ['(e), empty', await ofEmpty(mounted)],
    ['(e), full', await openOften(mounted, database)],
    ['(f), empty', await ofEmpty(serveCommand)],
    ['(f), full', await openOften(serveCommand, database)],
  ];
  const reached = openings[1]?.[1].openedIn ?? Number.NaN;
  const name = `open a database of ${events} events with nothing pending, to listening`;
  const head = ['server and inbox', 'from createReceiver, ms', 'from the start of the process, ms'];
  const rows = openings.map(([what, { openedIn, startedIn }]) => [
    what,
    // The command can't be asked.
    what.startsWith('(f)') ? '' : openedIn.toFixed(0),
    startedIn.toFixed(0),
  ]);
  return {
    targets: [{ name, bound: 'at most', value: 300, unit: 'ms', reached }],
    lines: ['## From start to listening', '', ...table(head, rows)],
  };
}

async function openOften(start: Start, database: string): Promise<Opening> {
  const openings: Opening[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const server = await start(database);
    openings.push(server);
    await server.end();
  }
  return {
    openedIn: median(openings.map(({ openedIn }) => openedIn)),
    startedIn: median(openings.map(({ startedIn }) => startedIn)),
  };
}
