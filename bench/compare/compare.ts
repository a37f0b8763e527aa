/** Compares servers that receive the same signed deliveries, and says which targets are reached. */
import { measuredOn, publish } from '../report.ts';
import { resultTable } from './result-table.ts';
import { type Results, type ServerKey, figure, ratio } from './results.ts';
import { type Comparison, runAtHalf, runRounds } from './rounds.ts';
import { everyServer } from './servers.ts';
import { compareTargets } from './targets.ts';

/** Runs the whole comparison. The quick one is for a check before each commit, and writes no file. */
export async function compare({ isQuick }: { isQuick: boolean }): Promise<void> {
  const machine = measuredOn();
  const rounds = isQuick ? 1 : 3;
  const seconds = isQuick ? 1.2 : 8;
  const tables: string[] = [];
  const tell = (title: string, results: Results) => {
    const of = (server: ServerKey) => ratio({ results, server }, { results, server: 'b' }, 'rate');
    tables.push(`## ${title}`, '', ...resultTable(results, { head: '÷ (b)', of }));
  };
  const run = async (comparisons: readonly Comparison[]): Promise<Results[]> => {
    const all = await runRounds(comparisons, rounds);
    for (const [index, results] of all.entries()) tell(comparisons[index]?.title ?? '', results);
    return all;
  };
  const common = { seconds, ...(isQuick && { warmUpSeconds: 1 }) };
  const small = { ...common, body: '0.4 KB', among: everyServer } as const;
  const large = { ...common, body: '8 KB' } as const;

  const [at32, at128] = await run([
    { ...small, title: '32 connections, 0.4 KB', connections: 32 },
    {
      ...small,
      title: '128 connections, 0.4 KB',
      connections: 128,
      among: isQuick ? ['e', 'f'] : everyServer,
    },
  ]);
  const at8KB = isQuick
    ? []
    : await run([
        { ...large, title: '32 connections, 8 KB', connections: 32, among: everyServer },
        { ...large, title: '128 connections, 8 KB', connections: 128, among: ['b', 'e', 'f'] },
      ]);
  const [at1] = await run([
    {
      ...small,
      title: 'One connection, 0.4 KB',
      connections: 1,
      among: ['d', 'e'],
      seconds: seconds / 2,
    },
  ]);
  if (!at32 || !at128 || !at1) throw new Error('A comparison has no results');
  const connections = figure(at128, 'e', 'rate') > figure(at32, 'e', 'rate') ? 128 : 32;
  const title = 'Half of the highest rate of (e)';
  const { paces, unwatched, watched } = await runAtHalf(
    { ...common, body: '0.4 KB', title, connections, server: 'e' },
    rounds,
  );
  const pace = `${title}: ${paces.join(', ')} deliveries/s at an even pace`;
  tell(pace, unwatched);
  tell(`${pace}, watched`, watched);

  const targets = compareTargets({ at32, at128, at8KB, at1, atHalf: unwatched, watched });
  const medians = `${rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`} of ${seconds} s.`;
  const note =
    'Rates hold on this machine and day only: compare the ratios, which are medians of the rounds too.';
  const head = ['# Results', '', `${machine} ${medians} ${note}`, ''];
  publish([...head, '## Targets', '', ...targets, ...tables], isQuick ? undefined : 'results.md');
}
