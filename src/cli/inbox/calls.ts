import { type Command, Option } from 'commander';
import { type CallQuery, callStatuses } from '../../operate/calls.ts';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printPages, takesLimit } from './print.ts';
import { takesTimes } from './times.ts';

interface CallsFlags extends Omit<CallQuery, 'cursor'> {
  readonly database?: string;
}

/** Adds `ringback inbox calls`. */
export function addCalls(inbox: Command): void {
  const calls = inbox
    .command('calls')
    .addOption(new Option('--status <status>', 'how far the call has come').choices(callStatuses))
    .option('--agent-id <id>', 'its agent');
  takesLimit(takesTimes(calls, 'its first event arrived'))
    .option(...databaseOption)
    .description('print calls as lines of JSON, as their events tell of them, latest first')
    .action(async ({ limit: most, ...flags }: CallsFlags) => {
      const { database: _, ...conditions } = flags;
      await withInbox(inboxFile(flags), async (store) => {
        const { calls: records } = lookInto(store);
        await printPages(
          async (cursor, limit) => {
            const query = { ...conditions, limit, ...(cursor !== undefined && { cursor }) };
            const page = await records.list(query);
            return { items: page.calls, cursor: page.cursor };
          },
          most,
          'no call matches',
        );
      });
    });
}
