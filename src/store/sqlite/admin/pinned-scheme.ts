import type Database from 'better-sqlite3';

/** The pinned signature scheme, for every process that shares the inbox. */
export function preparePinnedScheme(database: Database.Database) {
  const select = database.prepare("select value from settings where name = 'scheme'").pluck();
  const insert = database.prepare(`
    insert into settings values ('scheme', @scheme)
    on conflict do update set value = @scheme where value = @instead`);
  const remove = database.prepare("delete from settings where name = 'scheme' returning value").pluck();

  return {
    get: () => select.get() as string | undefined,

    /**
     * Pins a scheme unless a scheme other than `instead` is pinned, which the insert itself decides. Returns the scheme
     * that is pinned then.
     */
    pin(scheme: string, instead: string | undefined): string {
      insert.run({ scheme, instead: instead ?? null });
      return select.get() as string;
    },

    /** Removes the pinned scheme, and returns it. */
    unpin: () => remove.get() as string | undefined,
  };
}
