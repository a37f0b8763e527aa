/** Knowledge bases of the sandbox: documents that survive kills, searches of many chunks, and answers meanwhile. */
import { measuredOn, median, progress, publish, table } from '../report.ts';
import { type Target, targetTable } from '../targets.ts';
import { type Ingested, ingested } from './ingested.ts';
import { type ManyChunks, searchedLarge } from './many-chunks.ts';
import { type Stall, stallWith } from './stalls.ts';

const seed = 'ten kills';
/** The default size, and one at which the longest text has nearly the maximum of chunks. */
const chunkSizes = [512, 160] as const;
const shownProblems = 20;

/** A quick run is a tenth of a full one, and writes nothing. */
export async function measureKnowledge({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const machine = measuredOn();
  const [count, kills, chunks] = isQuick ? [100, 3, 5_000] : [1_000, 10, 50_000];
  progress(`${count} documents, ${kills} kills`);
  const killed = await ingested(count, kills, seed);
  progress(`${count} documents, no kill`);
  const undisturbed = await ingested(count, 0, seed);
  progress(`${chunks} chunks`);
  const large = await searchedLarge(chunks);
  progress('the longest texts');
  const stalls: Stall[] = [];
  for (const size of chunkSizes) stalls.push(await stallWith(size));
  publish(
    [
      '# Results for knowledge bases',
      '',
      `${machine} The built \`ringback sandbox\` with a database in a file, over HTTP, without an embedding service.`,
      '',
      '## Targets',
      '',
      ...targetTable(targetsOf(killed, undisturbed, large)),
      ...ingestionLines(killed, undisturbed, kills),
      ...searchLines(large),
      ...stallLines(stalls),
    ],
    isQuick ? undefined : 'results-knowledge.md',
  );
}

function targetsOf(
  killed: Ingested,
  undisturbed: Ingested,
  { chunks, times }: ManyChunks,
): readonly Target[] {
  const search = { bound: 'at most', value: 100, unit: 'ms' } as const;
  const none = { bound: 'at most', value: 0 } as const;
  return [
    { ...none, name: 'documents with anything wrong, after the kills', reached: killed.problems.length },
    { ...none, name: 'documents with anything wrong, without a kill', reached: undisturbed.problems.length },
    { ...search, name: `search of ${chunks} chunks, median`, reached: median(times) },
    { ...search, name: `search of ${chunks} chunks, p99`, reached: partOf(times, 0.99) },
  ];
}

function ingestionLines(killed: Ingested, undisturbed: Ingested, kills: number): string[] {
  const row = (what: string, figure: (run: Ingested) => string) => [
    what,
    figure(killed),
    figure(undisturbed),
  ];
  return [
    '## Documents of mixed kinds',
    '',
    ...table(
      ['', `${kills} kills`, 'no kill'],
      [
        row('documents that are there', ({ documents }) => String(documents)),
        row('completed', ({ completed }) => String(completed)),
        row('failed, with their reason', ({ failed }) => String(failed)),
        row('submissions without an answer', ({ unanswered }) => String(unanswered)),
        row('of these, stored all the same', ({ storedUnanswered }) => String(storedUnanswered)),
        row('begun more than once', ({ begunAgain }) => String(begunAgain)),
        row('seconds until all were settled', ({ seconds }) => seconds.toFixed(0)),
        row('documents a second', ({ documents, seconds }) => (documents / seconds).toFixed(1)),
        row('time in starting threads again', ({ startingShare }) => `${(startingShare * 100).toFixed(0)} %`),
      ],
    ),
    ...[...killed.problems, ...undisturbed.problems].slice(0, shownProblems).map((problem) => `- ${problem}`),
    '',
  ];
}

function searchLines(large: ManyChunks): string[] {
  const { chunks, times, busy, first, second, memory, mostMemory, memoryWhenFilled, found, secondsToFill } =
    large;
  return [
    `## Searches of ${chunks} chunks`,
    '',
    ...table(
      ['', ''],
      [
        ['searches', String(times.length)],
        ['median, p99, longest, ms', [0.5, 0.99, 1].map((part) => partOf(times, part).toFixed(0)).join(', ')],
        [
          'of these, the main thread ran for, ms',
          [0.5, 0.99, 1].map((part) => partOf(busy, part).toFixed(0)).join(', '),
        ],
        ['first and second search after a restart, ms', `${first.toFixed(0)}, ${second.toFixed(0)}`],
        ['chunks found by a word of their own beside two others', `${(found * 100).toFixed(0)} %`],
        ['filled in, s', secondsToFill.toFixed(0)],
        ['RSS when filled, MB', memoryWhenFilled.toFixed(0)],
        [
          'RSS after the restart and two searches, and the most, MB',
          `${memory.toFixed(0)}, ${mostMemory.toFixed(0)}`,
        ],
        ['of these, vectors, MB', ((chunks * 4_096) / 2 ** 20).toFixed(0)],
      ],
    ),
  ];
}

function stallLines(stalls: readonly Stall[]): string[] {
  return [
    '## Other requests while the longest text is ingested',
    '',
    ...table(
      ['chunks', 'ingested in, s', 'requests meanwhile', 'longest answer, ms', 'sent after'],
      stalls.map(({ chunks, seconds, requests, longest, place }) => [
        String(chunks),
        seconds.toFixed(1),
        String(requests),
        longest.toFixed(0),
        `${(place * 100).toFixed(0)} % of the time`,
      ]),
    ),
  ];
}

function partOf(times: readonly number[], part: number): number {
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
