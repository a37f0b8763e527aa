import type { Connection } from '../requests/connection.ts';
import { ensureOne } from '../requests/ensure-one.ts';
import { type UpdateOptions, type WantedSubscription, type WholeSubscription, newSchema } from './fields.ts';
import { differenceOf } from './merge.ts';
import { getSubscription, listSubscriptions } from './requests.ts';
import type { Subscription } from './subscription.ts';
import type { SubscriptionResult, SubscriptionWriter } from './writer.ts';

/** The result of `ensure`. */
export interface EnsuredSubscription extends SubscriptionResult {
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

/** Creates the subscription of this name, updates the fields that differ, or does nothing. */
export function ensureSubscription(
  operation: string,
  wanted: WantedSubscription,
  options: UpdateOptions,
  connection: Connection,
  writer: SubscriptionWriter,
): Promise<EnsuredSubscription> {
  const { unknownFields: _onlyForUpdates, ...secretOptions } = options;
  const { signal, secretFile } = secretOptions;
  return ensureOne<Subscription, EnsuredSubscription>({
    list: () => listSubscriptions(connection, { operation, pageSize: 100, signal }),
    matches: ({ name }) => name === wanted.name,
    create: async () => {
      const whole = newSchema.parse(wanted) as WholeSubscription;
      return { ...(await writer.create(operation, whole, secretOptions)), outcome: 'created' };
    },
    bringUp: async ({ id }) => {
      const current = await getSubscription(connection, operation, id, { signal });
      const patch = differenceOf(wanted, current);
      if (patch === undefined) {
        return { ...writer.unchanged(operation, wanted, current, secretFile), outcome: 'unchanged' };
      }
      return { ...(await writer.update(operation, id, patch, options, wanted)), outcome: 'updated' };
    },
  });
}
