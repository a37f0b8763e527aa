import { type Command, Option } from 'commander';
import { type QuarantineQuery, quarantineReasons } from '../../operate/quarantine.ts';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printPages, takesLimit } from './print.ts';
import { takesTimes } from './times.ts';

interface QuarantineFlags extends Omit<QuarantineQuery, 'cursor'> {
  readonly database?: string;
}

/** Adds `ringback inbox quarantine`. */
export function addQuarantine(inbox: Command): void {
  const kind = new Option('--kind <kind>', 'why it is there').choices(['not_authentic', 'unreadable']);
  const quarantine = inbox
    .command('quarantine')
    .addOption(kind)
    .addOption(new Option('--reason <reason>', 'its reason').choices(quarantineReasons))
    .option('--trace-id <id>', 'the trace id in its header, or a part of it');
  takesLimit(takesTimes(quarantine))
    .option(...databaseOption)
    .description('print the deliveries in quarantine as lines of JSON, latest first, without their bodies')
    .action(async ({ limit: most, ...flags }: QuarantineFlags) => {
      const { database: _, ...filter } = flags;
      await withInbox(inboxFile(flags), async (store) => {
        const { quarantine: kept } = lookInto(store);
        await printPages(
          async (cursor, limit) => {
            const query = { ...filter, limit, ...(cursor !== undefined && { cursor }) };
            const page = await kept.list(query);
            return { items: page.deliveries, cursor: page.cursor };
          },
          most,
          'no delivery in quarantine matches',
        );
      });
    });
}
