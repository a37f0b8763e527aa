/** The layout of signatures that the first event has pinned, for every process that shares the inbox. */
import type { OpenInbox } from '../connection/open-inbox.ts';

const selectLayout = "select value from settings where name = 'layout'";
const insertLayout = `
  insert into settings values ('layout', @layout)
  on conflict do update set value = @layout where value = @instead`;
const deleteLayout = "delete from settings where name = 'layout' returning value";

/** The layout that is pinned, if any. */
export function pinnedLayout({ database }: OpenInbox): string | undefined {
  return database.prepare(selectLayout).pluck().get() as string | undefined;
}

/**
 * Pins a layout unless another one than `instead` is pinned, which the insert itself decides. Returns the one that is
 * pinned then.
 */
export function pin({ database }: OpenInbox, layout: string, instead: string | undefined): string {
  database.prepare(insertLayout).run({ layout, instead: instead ?? null });
  return database.prepare(selectLayout).pluck().get() as string;
}

/** Removes the pinned layout, and returns it. */
export function unpin({ database }: OpenInbox): string | undefined {
  return database.prepare(deleteLayout).pluck().get() as string | undefined;
}
