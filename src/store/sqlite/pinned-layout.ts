/** The layout of signatures that the first authentic delivery has pinned, for every process that shares the inbox. */
import type { OpenInbox } from './open-inbox.ts';

const selectLayout = "select value from settings where name = 'layout'";
const insertLayout = "insert into settings values ('layout', ?) on conflict do nothing";
const deleteLayout = "delete from settings where name = 'layout' returning value";

/** The layout that is pinned, if any. */
export function pinnedLayout({ database }: OpenInbox): string | undefined {
  return database.prepare(selectLayout).pluck().get() as string | undefined;
}

/** Pins a layout unless one is pinned already, which the insert itself decides, and returns the one that is pinned. */
export function pin({ database }: OpenInbox, layout: string): string {
  database.prepare(insertLayout).run(layout);
  return database.prepare(selectLayout).pluck().get() as string;
}

/** Removes the pinned layout, and returns it. */
export function unpin({ database }: OpenInbox): string | undefined {
  return database.prepare(deleteLayout).pluck().get() as string | undefined;
}
