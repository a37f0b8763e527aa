import { expect } from 'vitest';
import { type CallRecord, callRecordOf } from '../../src/calls/timeline.ts';
import type { CallFilter } from '../../src/store/call-store.ts';
import type { Store } from '../../src/store/store.ts';

type Calls = Pick<Store, 'calls'>;

/** Every page of a filter, from the first to the one without a cursor. */
export async function pagesOf(store: Calls, filter: CallFilter): Promise<(readonly CallRecord[])[]> {
  const pages: (readonly CallRecord[])[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.calls.list({ ...filter, cursor });
    pages.push(page.calls);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return pages;
}

/** Expects of these events' calls each that matches, by its first event, the latest first, in full pages. */
export async function expectListed(
  store: Calls,
  events: readonly { readonly callId: string | undefined }[],
  wanted: CallFilter,
): Promise<void> {
  const callIds = [...new Set(events.map(({ callId }) => callId))].filter((id) => id !== undefined);
  const calls = await Promise.all(
    callIds.map(async (callId) => callRecordOf(callId, await store.calls.eventsOf(callId))),
  );
  const expected = calls
    .filter(
      ({ agentId, status, firstSeenAt }) =>
        (wanted.agentId === undefined || agentId === wanted.agentId) &&
        (wanted.status === undefined || status === wanted.status) &&
        firstSeenAt.getTime() >= (wanted.since ?? 0) &&
        firstSeenAt.getTime() < (wanted.until ?? Infinity),
    )
    .toReversed();
  const pages = await pagesOf(store, wanted);
  expect(pages.flat()).toEqual(expected);
  expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / wanted.limit)));
}
