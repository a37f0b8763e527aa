import type { Store } from '../store/store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/**
 * Logs, when a receiver starts, how its handlers don't fit its inbox: work may then never be done, and nothing else
 * shows that.
 */
export async function reportHandlers(
  store: Store,
  telemetry: Telemetry,
  names: ReadonlySet<string>,
): Promise<void> {
  for (const handler of await store.waitingHandlers()) {
    if (!names.has(handler)) telemetry.report('handler_missing', { handler });
  }
  // A process without handlers claims nothing, so it takes no work from others.
  if (names.size === 0) return telemetry.report('no_handlers');
  // No start fails for a line in the log: on a full disk, for example, or while another program holds the lock.
  const others = await store.announce([...names]).catch(() => []);
  reportDifference(telemetry, names, others);
}

function reportDifference(
  telemetry: Telemetry,
  names: ReadonlySet<string>,
  others: readonly (readonly string[])[],
): void {
  const handlers = [...names].filter((name) => others.some((other) => !other.includes(name)));
  const elsewhere = [...new Set(others.flat())].filter((name) => !names.has(name));
  if (handlers.length + elsewhere.length > 0) telemetry.report('handlers_differ', { handlers, elsewhere });
}
