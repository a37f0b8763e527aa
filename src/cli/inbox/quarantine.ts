import type { Command } from 'commander';
import { isUtf8 } from 'node:buffer';
import { ringbackError } from '../../errors/errors.ts';
import {
  type QuarantineQuery,
  type QuarantinedDelivery,
  type WholeQuarantinedDelivery,
  deliveryOf,
  quarantineReasons,
} from '../../operate/quarantine/quarantine.ts';
import { accountOf, deliveryIdArgument, oneOf, takesAccount, takesBy } from '../arguments.ts';
import {
  type BesideServeFlags,
  appOption,
  besideServe,
  loadSecrets,
  lookingReceiver,
} from '../app/receiver-beside.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { takesTimes } from './filter.ts';
import type { Account } from '../../operate/audit.ts';
import { withOpened, withReceiver } from './existing-inbox.ts';
import { printPages, printResult, printWhole, takesLimit } from './print.ts';
import type { Column } from './table.ts';

interface QuarantineFlags extends Omit<QuarantineQuery, 'cursor'>, DatabaseFlag {}

const kinds = ['not_authentic', 'unreadable'] as const;

const columns: readonly Column<QuarantinedDelivery>[] = [
  ['id', ({ id }) => id],
  ['arrived', ({ receivedAt }) => receivedAt],
  ['kind', ({ kind }) => kind],
  ['reason', ({ reason }) => reason],
  ['unverified trace id', ({ traceId }) => traceId],
];

export function addQuarantine(inbox: Command): void {
  const quarantine = inbox
    .command('quarantine')
    .option('--kind <kind>', `its kind: ${kinds.join(', ')}`, oneOf(kinds))
    .option('--reason <reason>', `its reason: ${quarantineReasons.join(', ')}`, oneOf(quarantineReasons))
    .option('--trace-id <id>', 'the trace id in its header, or part of it');
  takesLimit(takesTimes(quarantine))
    .option(...databaseOption)
    .description(
      'print the deliveries in quarantine, latest first, without their bodies (in a pipe, as lines of JSON)',
    )
    .action(async ({ limit: max, ...flags }: QuarantineFlags) => {
      const { database: _, ...filter } = flags;
      const list = { nothing: 'no delivery in quarantine matches', columns };
      await withReceiver(flags, ({ quarantine: kept }) =>
        printPages((page) => kept.list({ ...filter, ...page }), 'deliveries', max, list),
      );
    });
}

export function addDelivery(inbox: Command): void {
  takesBy(inbox.command('delivery'), 'who looks at it; stored in the audit list')
    .option(...databaseOption)
    .option(...appOption)
    .description(
      'print one delivery in quarantine as JSON, with its headers and body, which are personal data',
    )
    .addArgument(deliveryIdArgument())
    .addHelpText(
      'after',
      '\nWith the secrets of `ringback serve`, it also says in `signature` which scheme would verify it.',
    )
    .action(async (id: number, flags: BesideServeFlags & Account) => {
      printWhole(await wholeDelivery(id, flags));
    });
}

/** The delivery, and which scheme would verify it. Without secrets, the latter can't be determined. */
async function wholeDelivery(id: number, flags: BesideServeFlags & Account): Promise<unknown> {
  const { database, environment, options } = await besideServe(flags);
  const { receiver, canVerify } = lookingReceiver(database, environment, options);
  return withOpened(receiver, async () => {
    const { quarantine, audit } = receiver;
    if (canVerify) await loadSecrets(receiver);
    const delivery = await quarantine.get(id);
    if (delivery === undefined) throw ringbackError('quarantine_unknown', { id });
    await audit.recordLook(deliveryOf(id), accountOf(flags).by);
    return { ...readable(delivery), signature: await quarantine.checkSignature(id) };
  });
}

/** The body as text if it is UTF-8, else in base64 under another name, so that the two can't be confused. */
function readable({ body, ...delivery }: WholeQuarantinedDelivery) {
  const bytes = Buffer.from(body);
  return {
    ...delivery,
    ...(isUtf8(bytes) ? { body: bytes.toString() } : { bodyBase64: bytes.toString('base64') }),
  };
}

export function addDiscard(inbox: Command): void {
  takesAccount(inbox.command('discard'))
    .option(...databaseOption)
    .description('remove a delivery from quarantine permanently')
    .addArgument(deliveryIdArgument())
    .action(async (id: number, flags: Account & DatabaseFlag) => {
      const wasThere = await withReceiver(flags, (receiver) =>
        receiver.quarantine.discard(id, accountOf(flags)),
      );
      if (!wasThere) throw ringbackError('quarantine_unknown', { id });
      await printResult({ discarded: id });
    });
}
