import type { Command } from 'commander';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { copyInbox } from '../store/sqlite/admin/copy-inbox.ts';
import { type DatabaseFlag, databaseOf, readEnvironment } from './environment.ts';
import { asUsage } from './failure.ts';
import { requireSqlite } from './inbox/existing-inbox.ts';
import { printResult } from './inbox/print.ts';

export function addBackup(program: Command): void {
  program
    .command('backup')
    .option('--database <file>', 'the inbox, a SQLite file (RINGBACK_DATABASE; default: ./ringback.db)')
    .description('copy an inbox in SQLite to a new file, while receivers keep using it')
    .argument('<to>', 'the new file')
    .action(async (to: string, flags: DatabaseFlag) => {
      const database = asUsage(() => databaseOf(flags, readEnvironment()));
      requireSqlite(database, '--database', 'An inbox in Postgres is part of the backup of its database.');
      const copy = resolve(to);
      copyInbox(database, copy);
      await printResult({ backup: copy, bytes: statSync(copy).size });
    });
}
