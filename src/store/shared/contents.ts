/** How much an inbox keeps, by kind. */
export type Contents = Readonly<Record<string, number>>;

/** How a store counts the contents of an inbox. */
interface Counting {
  /** The name of a table in a statement. */
  readonly table: (name: string) => string;
  /** What to count of the identities. */
  readonly identity: '*' | 'distinct identity';
  /** Resolves to the column `count` of a statement. */
  readonly count: (statement: string) => number | Promise<number>;
}

/** Counts the contents of an inbox, one statement for each kind: counting ten million events takes a while. */
export async function contentsBy({ table, identity, count }: Counting): Promise<Contents> {
  const statements: Readonly<Record<string, string>> = {
    events: `count(*) from ${table('events')}`,
    bodies: `count(*) from ${table('bodies')}`,
    newEvents: `count(*) from (select sequence from ${table('waiting')} union select sequence from ${table('claims')}) n`,
    traceIds: `count(${identity}) from ${table('identities')}`,
    runsDue: `count(*) from ${table('runs')} where state in ('due', 'claimed')`,
    runsBlocked: `count(*) from ${table('runs')} where state = 'blocked'`,
    runsDone: `count(*) from ${table('runs')} where state = 'done'`,
    runsDead: `count(*) from ${table('runs')} where state = 'dead'`,
    attempts: `cast(coalesce(sum(attempts), 0) as bigint) from ${table('runs')}`,
    failures: `count(*) from ${table('failures')}`,
    failureGroups: `count(*) from ${table('failure_groups')}`,
    joins: `count(*) from ${table('joins')}`,
    crashCounts: `count(*) from ${table('crash_counts')}`,
    duplicates: `cast(coalesce(sum(count), 0) as bigint) from ${table('duplicates')}`,
    quarantine: `count(*) from ${table('quarantine')}`,
    quarantineDropped: `cast(coalesce(sum(dropped), 0) as bigint) from ${table('quarantine_totals')}`,
    drift: `count(*) from ${table('drift')}`,
    audit: `count(*) from ${table('audit')}`,
    pausedHandlers: `count(*) from ${table('paused_handlers')}`,
    // Shows that events came even if as many were removed. Not the last number given: after a crash, Postgres skips
    // some.
    lastEvent: `coalesce(max(sequence), 0) from ${table('events')}`,
    lastInQuarantine: `coalesce(max(id), 0) from ${table('quarantine')}`,
    lastInAudit: `coalesce(max(id), 0) from ${table('audit')}`,
    pinnedSchemes: `count(*) from ${table('settings')} where name = 'scheme'`,
    reconciled: `count(*) from ${table('settings')} where name = 'reconciled'`,
  };
  const contents: Record<string, number> = {};
  for (const [kind, statement] of Object.entries(statements))
    contents[kind] = await count(`select (select ${statement}) as count`);
  return contents;
}
