/** The conditions of handlers whose attempts mostly fail, and of similar failures in handlers that mostly succeed. */
import { groupPrefix } from '../../kit/activity.ts';
import { inWords } from '../../kit/duration.ts';
import type { HistoryRow } from '../../store/history-store.ts';
import type { NamedGroup } from '../../store/failure-store.ts';
import { type Condition, type Facts, eased } from './facts.ts';

/** The window in which attempts are counted, in milliseconds. */
const window = 15 * 60_000;

/** How long without a failure counts as mended, in milliseconds; a raised alert ends after twice as long. */
const mendedWindow = 3 * 60_000;

/** The share of their handler's attempts from which similar failures get an alert of their own. */
const alikePart = 0.1;

const handlerPrefix = 'failed:';

/** A handler's attempts in the window, without muted failures. */
interface Attempts {
  readonly handler: string;
  readonly failed: number;
  readonly done: number;
  /** The largest group first. */
  readonly alike: readonly (NamedGroup & { readonly count: number })[];
}

/**
 * Occasional failures are retried and wake nobody, nor do muted or mended ones: an alert ends soon after the mend, and
 * not only when the old failures leave the window.
 */
export function failures(facts: Facts, from: number | false): readonly Condition[] {
  if (from === false) return [];
  const { minutes, groups, now } = facts;
  const rows = withoutMuted(minutes, groups);
  const counts = sums(rows, now - window);
  const isMended = (name: string, handler: string, ease: number) => {
    const failedAt = latest(rows, name);
    // An attempt must have succeeded since: the mere absence of attempts mends nothing.
    return failedAt < now - mendedWindow / ease && latest(rows, `done:${handler}`) > failedAt;
  };
  return handlersIn(counts).flatMap((handler): readonly Condition[] => {
    const attempts = attemptsOf(handler, counts, groups);
    const { failed, done } = attempts;
    const ease = eased(facts, 'handler_failing', handler);
    if (failed >= from * ease && failed > done * ease)
      return isMended(`${handlerPrefix}${handler}`, handler, ease) ? [] : [handlerFailing(attempts)];
    const fromHere = Math.max(from, (failed + done) * alikePart);
    return attempts.alike
      .filter(({ id, count }) => {
        const easeHere = eased(facts, 'failures_alike', id);
        return count >= fromHere * easeHere && !isMended(`${groupPrefix}${id}`, handler, easeHere);
      })
      .map((group) => failuresAlike(attempts, group));
  });
}

function handlersIn(counts: ReadonlyMap<string, number>): readonly string[] {
  return [...counts.keys()]
    .filter((name) => name.startsWith(handlerPrefix))
    .map((name) => name.slice(handlerPrefix.length));
}

function attemptsOf(
  handler: string,
  counts: ReadonlyMap<string, number>,
  groups: readonly NamedGroup[],
): Attempts {
  return {
    handler,
    failed: counts.get(`${handlerPrefix}${handler}`) ?? 0,
    done: counts.get(`done:${handler}`) ?? 0,
    alike: groups
      .filter((group) => group.handler === handler && !group.isMuted)
      .map((group) => ({ ...group, count: counts.get(`${groupPrefix}${group.id}`) ?? 0 }))
      .toSorted((one, other) => other.count - one.count),
  };
}

function handlerFailing({ handler, failed, done, alike: [most] }: Attempts): Condition {
  const like =
    most === undefined || most.count < 2 ? '' : `, ${most.count} of them in the same way (${most.cause})`;
  const message = `${failed} of ${failed + done} attempts of ${handler} have failed in the last ${inWords(window)}${like}.`;
  return { name: 'handler_failing', subject: handler, message };
}

function failuresAlike(
  { handler, failed, done }: Attempts,
  { id, count, cause }: Attempts['alike'][number],
): Condition {
  const message = `${count} of ${failed + done} attempts of ${handler} have failed in the same way in the last ${inWords(window)} (${cause}).`;
  return { name: 'failures_alike', subject: id, message };
}

function sums(rows: readonly HistoryRow[], since: number): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  for (const { at, name, count } of rows) if (at >= since) all.set(name, (all.get(name) ?? 0) + count);
  return all;
}

/** Takes the counts of muted groups off their handlers' failures, which include them. */
function withoutMuted(rows: readonly HistoryRow[], groups: readonly NamedGroup[]): readonly HistoryRow[] {
  const muted = groups.filter(({ isMuted }) => isMuted);
  const handlers = new Map(muted.map(({ id, handler }) => [`${groupPrefix}${id}`, handler]));
  return rows.map((row) => {
    const handler = handlers.get(row.name);
    return handler === undefined ? row : { ...row, name: `${handlerPrefix}${handler}`, count: -row.count };
  });
}

/** The last minute with a count under the name; -Infinity if there is none. */
function latest(rows: readonly HistoryRow[], name: string): number {
  const counts = new Map<number, number>();
  for (const row of rows) if (row.name === name) counts.set(row.at, (counts.get(row.at) ?? 0) + row.count);
  return Math.max(...[...counts].filter(([, count]) => count > 0).map(([at]) => at));
}
