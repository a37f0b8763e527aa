import type { BulkResult } from '../../operate/bulk/bulk-work.ts';
import type { BegunBulkAction, InboxEvents } from '../../operate/events.ts';

/**
 * The result of a replay or a dismissal; undefined if it was stopped. A signal stops it: whoever interrupts a command doesn't
 * expect that it goes on in a receiver.
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
