import type { Command } from 'commander';
import { raisedAlerts } from '../../operate/alerts/alerts.ts';
import { databaseOption } from '../environment.ts';
import { remark } from '../stderr.ts';
import { existingInbox, withInbox } from './existing-inbox.ts';
import { printLine } from './print.ts';

/** Adds `ringback inbox alerts`. */
export function addAlerts(inbox: Command): void {
  inbox
    .command('alerts')
    .option(...databaseOption)
    .description('print the alerts that are raised as lines of JSON')
    .action(async (flags: { readonly database?: string }) => {
      const alerts = await withInbox(await existingInbox(flags), (store) => raisedAlerts(store.alerts));
      for (const alert of alerts) await printLine(alert);
      if (alerts.length === 0) remark('no alert is raised');
    });
}
