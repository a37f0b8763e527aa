import type { Command } from 'commander';
import { type RaisedAlert, raisedAlerts } from '../../operate/alerts/alerts.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { existingInbox, withInbox } from './existing-inbox.ts';
import { printAll } from './print.ts';
import type { Column } from './table.ts';

const columns: readonly Column<RaisedAlert>[] = [
  ['since', ({ since }) => since],
  ['alert', ({ name }) => name],
  ['subject', ({ subject }) => subject],
  ['current state', ({ message }) => message],
];

export function addAlerts(inbox: Command): void {
  inbox
    .command('alerts')
    .option(...databaseOption)
    .description('print the raised alerts (in a pipe, as lines of JSON)')
    .action(async (flags: DatabaseFlag) => {
      const alerts = await withInbox(await existingInbox(flags), (store) => raisedAlerts(store.alerts));
      await printAll(alerts, { nothing: 'no alert is raised', columns });
    });
}
