/** The scheme of signatures that the first event has pinned, for every process that shares the inbox. */
import type { OpenInbox } from '../connection/open-inbox.ts';

const selectScheme = "select value from settings where name = 'scheme'";
const insertScheme = `
  insert into settings values ('scheme', @scheme)
  on conflict do update set value = @scheme where value = @instead`;
const deleteScheme = "delete from settings where name = 'scheme' returning value";

/** The scheme that is pinned, if any. */
export function pinnedScheme({ database }: OpenInbox): string | undefined {
  return database.prepare(selectScheme).pluck().get() as string | undefined;
}

/**
 * Pins a scheme unless another one than `instead` is pinned, which the insert itself decides. Returns the one that is
 * pinned then.
 */
export function pin({ database }: OpenInbox, scheme: string, instead: string | undefined): string {
  database.prepare(insertScheme).run({ scheme, instead: instead ?? null });
  return database.prepare(selectScheme).pluck().get() as string;
}

/** Removes the pinned scheme, and returns it. */
export function unpin({ database }: OpenInbox): string | undefined {
  return database.prepare(deleteScheme).pluck().get() as string | undefined;
}
