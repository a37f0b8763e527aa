/** SQL for both stores: how much an inbox keeps, by kind. `table` gives the name of a table in a statement. */
export function contentsIn(table: (name: string) => string): string {
  const counts: Readonly<Record<string, string>> = {
    events: `count(*) from ${table('events')}`,
    bodies: `count(*) from ${table('bodies')}`,
    newEvents: `count(*) from (select sequence from ${table('waiting')} union select sequence from ${table('claims')}) n`,
    // An identity of an event may have been one of an earlier event as well, which is the one that counts.
    traceIds: `count(distinct identity) from ${table('identities')}`,
    runsDue: `count(*) from ${table('runs')} where state in ('due', 'claimed')`,
    runsBlocked: `count(*) from ${table('runs')} where state = 'blocked'`,
    runsDone: `count(*) from ${table('runs')} where state = 'done'`,
    runsDead: `count(*) from ${table('runs')} where state = 'dead'`,
    joins: `count(*) from ${table('joins')}`,
    crashCounts: `count(*) from ${table('crash_counts')}`,
    quarantine: `count(*) from ${table('quarantine')}`,
    quarantineDropped: `cast(coalesce(sum(dropped), 0) as bigint) from ${table('quarantine_totals')}`,
    drift: `count(*) from ${table('drift')}`,
    audit: `count(*) from ${table('audit')}`,
    pinnedSchemes: `count(*) from ${table('settings')} where name = 'scheme'`,
  };
  const columns = Object.entries(counts).map(([kind, count]) => `(select ${count}) as "${kind}"`);
  return `select ${columns.join(', ')}`;
}
