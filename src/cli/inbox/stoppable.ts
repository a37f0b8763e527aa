import type { BulkResult } from '../../operate/bulk/bulk-work.ts';
import type { BegunBulkAction, InboxEvents } from '../../operate/events.ts';

/**
 * The result of a replay or dismissal; undefined if it was stopped. A signal stops it: a user who interrupts the
 * command doesn't expect a receiver to continue it.
 */
export async function resultUnlessStopped(
  events: Pick<InboxEvents, 'stop'>,
  { id, ended }: BegunBulkAction,
  signal: Promise<unknown>,
  by: string | undefined,
): Promise<BulkResult | undefined> {
  const result = await Promise.race([ended, signal.then(() => undefined)]);
  if (result !== undefined) return result.state === 'stopped' ? undefined : result;
  ended.catch(() => {});
  if (id !== undefined) await events.stop(id, { by });
  return undefined;
}
