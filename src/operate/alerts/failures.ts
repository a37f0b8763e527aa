/** Handlers of which most attempts fail, and failures that are alike of handlers of which most go well. */
import { inWords } from '../../kit/duration.ts';
import type { HistoryRow } from '../../store/history-store.ts';
import type { NamedGroup } from '../../store/failure-store.ts';
import type { Condition, Facts } from './facts.ts';

/** Over how long attempts are compared, in milliseconds. */
const window = 15 * 60_000;

/** For how long none may have failed for it to be mended, in milliseconds. */
const mendedWindow = 3 * 60_000;

/** From which part of its handler's attempts on failures that are alike are told of by themselves. */
const alikePart = 0.1;

/** The names under which the history counts failures that are alike. */
export const groupPrefix = 'group:';
const handlerPrefix = 'failed:';

/** What a handler has done in the window, without what is muted. */
interface Attempts {
  readonly handler: string;
  readonly failed: number;
  readonly done: number;
  /** Most first. */
  readonly alike: readonly (NamedGroup & { readonly count: number })[];
}

/**
 * What fails now and then is tried again, and wakes nobody; nor does what is muted, or what has been mended: nobody waits until
 * what has failed before is forgotten.
 */
export function failures({ minutes, groups, now }: Facts, from: number | false): readonly Condition[] {
  if (from === false) return [];
  const rows = withoutMuted(minutes, groups);
  const counts = sums(rows, now - window);
  const isMended = (name: string, handler: string) => {
    const failedAt = latest(rows, name);
    // Something has gone well since: that stays so when nothing comes afterwards.
    return failedAt < now - mendedWindow && latest(rows, `done:${handler}`) > failedAt;
  };
  return handlersIn(counts).flatMap((handler): readonly Condition[] => {
    const attempts = attemptsOf(handler, counts, groups);
    if (attempts.failed >= from && attempts.failed > attempts.done)
      return isMended(`${handlerPrefix}${handler}`, handler) ? [] : [handlerFailing(attempts)];
    const fromHere = Math.max(from, (attempts.failed + attempts.done) * alikePart);
    return attempts.alike
      .filter(({ id, count }) => count >= fromHere && !isMended(`${groupPrefix}${id}`, handler))
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
  const like = most === undefined || most.count < 2 ? '' : `, ${most.count} of them alike (${most.cause})`;
  const message = `${failed} of ${failed + done} attempts of ${handler} have failed in the last ${inWords(window)}${like}.`;
  return { name: 'handler_failing', subject: handler, message };
}

function failuresAlike(
  { handler, failed, done }: Attempts,
  { id, count, cause }: Attempts['alike'][number],
): Condition {
  const message = `${count} of ${failed + done} attempts of ${handler} have failed alike in the last ${inWords(window)} (${cause}).`;
  return { name: 'failures_alike', subject: id, message };
}

function sums(rows: readonly HistoryRow[], since: number): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  for (const { at, name, count } of rows) if (at >= since) all.set(name, (all.get(name) ?? 0) + count);
  return all;
}

/** What was counted, less what is muted: each of those is counted as one of its handler's, too. */
function withoutMuted(rows: readonly HistoryRow[], groups: readonly NamedGroup[]): readonly HistoryRow[] {
  const muted = groups.filter(({ isMuted }) => isMuted);
  const handlers = new Map(muted.map(({ id, handler }) => [`${groupPrefix}${id}`, handler]));
  return rows.map((row) => {
    const handler = handlers.get(row.name);
    return handler === undefined ? row : { ...row, name: `${handlerPrefix}${handler}`, count: -row.count };
  });
}

/** The last minute in which something was counted under the name; -Infinity if there is none. */
function latest(rows: readonly HistoryRow[], name: string): number {
  const counts = new Map<number, number>();
  for (const row of rows) if (row.name === name) counts.set(row.at, (counts.get(row.at) ?? 0) + row.count);
  return Math.max(...[...counts].filter(([, count]) => count > 0).map(([at]) => at));
}
