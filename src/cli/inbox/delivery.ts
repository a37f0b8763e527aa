import type { Command } from 'commander';
import { isUtf8 } from 'node:buffer';
import { ringbackError } from '../../errors/errors.ts';
import type { WholeQuarantinedDelivery } from '../../operate/quarantine.ts';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { deliveryIdArgument } from './delivery-id.ts';
import { lookInto } from './looking.ts';
import { printWhole } from './print.ts';

/** Adds `ringback inbox delivery`. */
export function addDelivery(inbox: Command): void {
  inbox
    .command('delivery')
    .option(...databaseOption)
    .description('print one delivery in quarantine as JSON, with its headers and its body: personal data')
    .addArgument(deliveryIdArgument())
    .action(async (id: number, flags: { readonly database?: string }) => {
      const delivery = await withInbox(inboxFile(flags), (store) => lookInto(store).quarantine.get(id));
      if (delivery === undefined) throw ringbackError('quarantine_unknown', { id });
      printWhole(readable(delivery));
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
