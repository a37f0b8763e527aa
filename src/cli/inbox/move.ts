import type { Command } from 'commander';
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemClock } from '../../kit/clock.ts';
import { linkTarget } from '../../kit/files.ts';
import { databaseName } from '../../receiver/database.ts';
import { type Movable, move, requireEmpty } from '../../store/shared/move.ts';
import { PostgresMove } from '../../store/postgres/admin/postgres-move.ts';
import { readTarget } from '../../store/postgres/connection/target.ts';
import { SqliteMove } from '../../store/sqlite/admin/sqlite-move.ts';
import { RingbackError, configError, ringbackError } from '../../errors/errors.ts';
import { readDatabase } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { remark } from '../stderr.ts';
import { isExistingInbox, requireInbox, withInbox } from './existing-inbox.ts';
import { printResult } from './print.ts';

interface MoveFlags {
  readonly from: string;
  readonly to: string;
  readonly yes?: true;
}

export function addMove(inbox: Command): void {
  inbox
    .command('move')
    .requiredOption('--from <file or URL>', 'the inbox to move, which is not changed')
    .requiredOption('--to <file or URL>', 'where it is moved to: a new file, or a schema without an inbox')
    .description('show what would be moved, and with --yes move an inbox from SQLite to Postgres, or back')
    .option('--yes', 'move it')
    .addHelpText(
      'after',
      [
        '',
        'Stop every receiver on both first: the platform retries the deliveries that come meanwhile.',
        'If it is interrupted, run the same command again: it continues where it stopped.',
        "To Postgres: ringback inbox move --from ringback.db --to 'postgres://user@host/app?schema=ringback'",
      ].join('\n'),
    )
    .action(async (flags: MoveFlags) => {
      const from = asUsage(() => readDatabase(flags.from, '--from'));
      const to = asUsage(() => readDestination(flags.to, from));
      await requireInbox(from);
      if (flags.yes === true) return moveInbox(from, to);
      await requireRoom(from, to);
      await printResult(await withInbox(from, (store) => store.counts()));
      remark('Nothing was moved. To move this, stop the receivers and add --yes.');
    });
}

/**
 * Refuses a target with events or deliveries, and a file in a folder that isn't there, before the user stops the
 * receivers for a move that would refuse it. The move itself checks the rest, such as whether it can continue an
 * interrupted move.
 *
 * @throws RingbackError `move_refused`, `database_unreachable`, `database_unreadable`
 */
async function requireRoom(from: string, to: string): Promise<void> {
  if (!(await isExistingInbox(to))) return requireFolder(to);
  try {
    const { events, quarantine } = await withInbox(to, (store) => store.counts());
    const counts = [...Object.values(events), ...Object.values(quarantine)];
    requireEmpty(movable(from).name, movable(to).name, counts);
  } catch (error) {
    if (!(error instanceof RingbackError && error.code === 'move_unfinished')) throw error;
  }
}

function requireFolder(to: string): void {
  if (readTarget(to)) return;
  const folder = dirname(linkTarget(resolve(to)));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw ringbackError('database_unreadable', {
    database: to,
    cause: `there is no folder ${folder}`,
    fix: 'Make the folder, or check the path.',
  });
}

async function moveInbox(from: string, to: string): Promise<void> {
  await printResult({ moved: await move(movable(from), movable(to)) });
  remark(
    `All of it is in ${databaseName(to)} now, counted on both sides. Start the receivers with --database set to it. ` +
      `${databaseName(from)} is unchanged: do not start a receiver on it again, since it would handle the same events once ` +
      'more, and take for new what has been delivered since. Keep it until you trust the new one, then remove it: it holds ' +
      'personal data.',
  );
}

function readDestination(text: string, from: string): string {
  const to = readDatabase(text, '--to');
  if (to !== ':memory:' && nameOf(to) !== nameOf(from)) return to;
  const [expected, found] = ['another database than --from, which outlives the command', databaseName(to)];
  throw configError('option_invalid', { option: '--to', expected, found });
}

/** One name for all spellings of a database. */
function nameOf(database: string): string {
  return readTarget(database) ? databaseName(database) : resolve(database);
}

export function movable(database: string): Movable {
  const target = readTarget(database);
  return target ? new PostgresMove(target, systemClock) : new SqliteMove(resolve(database), systemClock);
}
