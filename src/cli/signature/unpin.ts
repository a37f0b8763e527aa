import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { ringbackError } from '../../errors.ts';
import { systemClock } from '../../kit/clock.ts';
import { SqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';

interface UnpinFlags {
  readonly database?: string;
  readonly yes?: true;
}

/** Adds `ringback signature unpin`. */
export function addUnpin(signature: Command): void {
  signature
    .command('unpin')
    .description('show the layout that is pinned in the inbox, and with --yes let it go')
    .option('--database <file>', 'the inbox (RINGBACK_DATABASE; default: ./ringback.db)')
    .option('--yes', 'let it go: the next delivery that verifies pins its own')
    .addHelpText('after', '\nA receiver that runs keeps to what was pinned until it is started again.')
    .action(async ({ database, yes }: UnpinFlags) => {
      const file = database ?? asUsage(readEnvironment).RINGBACK_DATABASE ?? './ringback.db';
      process.stdout.write(`${await unpin(file, yes === true)}\n`);
    });
}

async function unpin(file: string, isMeant: boolean): Promise<string> {
  // Opening would make it: an empty inbox beside the one that was meant helps nobody.
  if (!existsSync(file)) {
    throw ringbackError('database_unreadable', { database: file, cause: 'there is no such file' });
  }
  const store = new SqliteStore(file, systemClock);
  await store.open();
  try {
    const layout = isMeant ? await store.unpinLayout() : await store.pinnedLayout();
    if (layout === undefined) return `No layout is pinned in ${file}.`;
    return isMeant
      ? `The layout ${layout} is no longer pinned. Start the receiver again; its next delivery pins anew.`
      : `The layout ${layout} is pinned in ${file}. To let it go, add --yes.`;
  } finally {
    await store.close();
  }
}
