import type { Command } from 'commander';
import { refProcess, pause, systemClock } from '../../kit/clock.ts';
import type { EventFilter } from '../../operate/events.ts';
import { storeOf } from '../../receiver/database.ts';
import type { Receiver } from '../../receiver/receiver.ts';
import type { EventStore, ReplayedRuns } from '../../store/event-store.ts';
import type { Store } from '../../store/store.ts';
import { accountOf, argument, takesBy } from '../arguments.ts';
import { handlersOption, loadApp } from '../app/app-file.ts';
import { type DatabaseFlag, databaseOption, readEnvironment } from '../environment.ts';
import { asUsage, exitCodes } from '../failure.ts';
import { keepConsoleOffStdout, remark } from '../stderr.ts';
import { stopSignal } from '../signals.ts';
import { filterOf, takesFilter } from './filter.ts';
import { existingInbox, withInbox, withOpened } from './existing-inbox.ts';
import { printResult } from './print.ts';
import { receiverBeside } from '../app/receiver-beside.ts';
import { resultUnlessStopped } from './stoppable.ts';

interface ReplayFlags extends EventFilter, DatabaseFlag {
  readonly app?: string;
  readonly only?: string;
  readonly rate?: number;
  readonly by?: string;
  readonly reason?: string;
  readonly yes?: true;
  readonly wait?: true;
}

const unmeant = 'Nothing was run. To run these again, add --yes.';
const unmatched = 'no run matches';
const stopped =
  'stopped before all were requeued: those that were will run, and the same command requeues the rest';
type Undone = typeof unmeant | typeof unmatched | typeof stopped;

export function addReplay(inbox: Command, exitWith: (code: number) => void): void {
  takesBy(takesFilter(inbox.command('replay')), 'who requests it; stored with the replay')
    .option(...databaseOption)
    .description('show which runs would be run again, and with --yes run them')
    .option(...handlersOption)
    .option('--only <handler>', 'run only this handler, also for events that it has never run for')
    .option(
      '--rate <number>',
      'how many runs are requeued per second, at most',
      argument('a number above 0', readRate),
    )
    .option('--reason <text>', 'why; stored with the replay')
    .option('--yes', 'run them')
    .option(
      '--wait',
      'with --yes: wait until each is done or dead; exits with 0 when all are done, else with 1',
    )
    .addHelpText(
      'after',
      [
        '',
        'Restart the receiver with the fixed handlers first: it may run what is requeued.',
        'It needs the app file and the secrets of `ringback serve`. With --wait, it also handles events meanwhile.',
        'Dead letters of a handler: ringback inbox replay --state dead --handler journal --app app.js',
      ].join('\n'),
    )
    .action(async (flags: ReplayFlags, command: Command) => {
      const isWell = await replay(flags, command);
      if (!isWell) exitWith(exitCodes.failure);
    });
}

/** Resolves to false if it was stopped early, or if with `--wait` not all runs are done. */
async function replay(flags: ReplayFlags, command: Command): Promise<boolean> {
  const environment = asUsage(readEnvironment);
  const app = flags.app ?? environment.RINGBACK_APP;
  if (app === undefined) return command.error("error: missing the option '--app <file>'");
  const database = await existingInbox(flags, environment);
  const filter = filterOf(flags);
  if (Object.values(filter).every((value) => value === undefined))
    return command.error("error: missing a condition, such as '--state dead'");
  keepConsoleOffStdout();
  const { options, register } = await loadApp(app);
  const store = storeOf(database, systemClock);
  const receiver = receiverBeside(store, environment, options);
  await register(receiver);
  const result = await requeue(receiver, store, filter, flags);
  if (typeof result === 'string') {
    remark(result);
    return result !== stopped;
  }
  const runs = await withInbox(database, ({ events }) => events.replayed(result));
  remark(describeRuns(runs));
  return flags.wait !== true || runs.dead + runs.open === 0;
}

/**
 * Requeues the selected runs and prints their number; resolves to the replay's id. It selects before any handler runs
 * here: otherwise, waiting events would be handled first, and then run again.
 */
async function requeue(
  receiver: Receiver,
  store: Store,
  filter: EventFilter,
  { yes, wait, only, rate, ...account }: ReplayFlags,
): Promise<number | Undone> {
  const signal = stopSignal();
  // A signal stops the receiver gracefully, as in `serve`: otherwise runs that began here would look like those of a
  // crashed process.
  return withOpened(receiver, async () => {
    const { by, reason } = accountOf(account);
    const options = { dryRun: yes !== true, only, rate, by, reason };
    const begun = await receiver.events.beginReplay(filter, options);
    const result = await resultUnlessStopped(receiver.events, begun, signal, by);
    if (!result) return stopped;
    await printResult(result);
    if (result.runs === 0) return unmatched;
    if (result.id === undefined) return unmeant;
    if (wait) {
      await receiver.start();
      await untilSettled(store.events, result.id, signal);
    }
    return result.id;
  });
}

function readRate(value: unknown): number | undefined {
  const rate = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return rate > 0 && Number.isFinite(rate) ? rate : undefined;
}

const lookPause = 500;

async function untilSettled(store: EventStore, id: number, signal: Promise<unknown>): Promise<void> {
  const signalled = signal.then(() => 'signalled');
  const pausing = () => Promise.race([signalled, pause(systemClock, lookPause)]);
  const unref = refProcess();
  while ((await store.replayed(id)).open > 0 && (await pausing()) !== 'signalled');
  unref();
}

/** Describes the states of the requeued runs, and what will run the rest. */
function describeRuns({ done, dead, open }: ReplayedRuns): string {
  const counts = `runs requeued: ${done} done, ${dead} dead, ${open} still waiting`;
  return open === 0 ? counts : `${counts}. A receiver on this database runs the waiting ones`;
}
