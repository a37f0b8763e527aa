import type Database from 'better-sqlite3';
import type { CleaningStep, RetentionLimits } from '../../retention-store.ts';
import { type KeptEventAge, isKeptLongEnough, joinNeedsCall } from '../../shared/kept-long-enough.ts';
import { eventState } from '../work/open-runs.ts';
import type { Remove } from './removal.ts';

/** The bounds of one step: it is one transaction, and deliveries wait for it. */
const eventsAtOnce = 200;
const quarantinedAtOnce = 50;
const traceIdsAtOnce = 500;
/** Bounded in bytes as well, because removed bodies are overwritten. */
const bytesAtOnce = 4 * 1024 * 1024;

interface EventRow extends Omit<KeptEventAge, 'isDead' | 'isNeeded'> {
  readonly sequence: number;
  readonly callId: string | null;
  readonly bytes: number;
  readonly isDead: number;
  readonly isNeeded: number;
}

interface Page {
  readonly events: readonly EventRow[];
  readonly next: string | undefined;
}

/** Cleaning. `step` runs inside the caller's transaction. */
export function prepareCleaning(database: Database.Database, remove: Remove) {
  const oldest = database.prepare(`
    select sequence, call_id as callId, ${eventState} as state, received_at as receivedAt, length(b.body) as bytes,
      (select max(settled_at) from runs r where r.sequence = e.sequence) as settledAt,
      exists (select 1 from runs r where r.sequence = e.sequence and r.state = 'dead') as isDead,
      ${joinNeedsCall((name) => name, '@deadBefore')} as isNeeded
    from events e join bodies b using (sequence)
    where received_at >= @receivedAt and received_at < @before and (received_at > @receivedAt or sequence > @sequence)
    order by received_at, sequence limit ${eventsAtOnce}`);
  const oldQuarantined = database.prepare(`
    select id, length(body) as bytes from quarantine where received_at < ?
    order by received_at limit ${quarantinedAtOnce}`);
  const deleteQuarantined = database.prepare('delete from quarantine where id = ?');
  const expired = database.prepare(
    `select era, identity from identities where expires_at <= ? order by expires_at limit ${traceIdsAtOnce}`,
  );
  const forget = database.prepare('delete from identities where era = @era and identity = @identity');

  const look = ({ doneBefore, deadBefore }: RetentionLimits, after: string | undefined): Page => {
    const [receivedAt = -1, sequence = 0] = after?.split(':').map(Number) ?? [];
    const rows = oldest.iterate({
      receivedAt,
      sequence,
      before: Math.max(doneBefore, deadBefore),
      deadBefore,
    });
    const events = upToBytes(rows as Iterable<EventRow>);
    const last = events.length === 0 ? undefined : events.at(-1);
    const isFull = events.length === eventsAtOnce || bytesOf(events) >= bytesAtOnce;
    return { events, next: isFull && last ? `${last.receivedAt}:${last.sequence}` : undefined };
  };

  const quarantined = ({ quarantineBefore }: RetentionLimits) =>
    upToBytes(oldQuarantined.iterate(quarantineBefore) as Iterable<{ id: number; bytes: number }>);

  return {
    /** Whether a step would remove anything: otherwise it is left out, so that the disk is left alone. */
    hasWork(
      limits: RetentionLimits,
      after: string | undefined,
    ): { hasWork: boolean; next: string | undefined } {
      const { events, next } = look(limits, after);
      const hasWork =
        events.some((event) => mayGo(event, limits)) ||
        quarantined(limits).length > 0 ||
        expired.get(limits.now) !== undefined;
      return { hasWork, next };
    },

    step(limits: RetentionLimits, after: string | undefined): CleaningStep {
      const { events, next } = look(limits, after);
      const { events: removed, runs } = remove(
        events.filter((event) => mayGo(event, limits)),
        limits.traceIdsUntil,
      );
      const old = quarantined(limits);
      for (const { id } of old) deleteQuarantined.run(id);
      const traceIds = expired.all(limits.now);
      for (const identity of traceIds) forget.run(identity);
      const isFull = old.length === quarantinedAtOnce || bytesOf(old) >= bytesAtOnce;
      const hasMore = isFull || traceIds.length === traceIdsAtOnce;
      return {
        events: removed,
        runs,
        quarantined: old.length,
        traceIds: traceIds.length,
        next: next ?? (hasMore ? (after ?? '-1:0') : undefined),
      };
    },
  };
}

/** Whether an event may be removed. SQLite has no booleans. */
function mayGo(event: EventRow, limits: RetentionLimits): boolean {
  return isKeptLongEnough({ ...event, isDead: event.isDead === 1, isNeeded: event.isNeeded === 1 }, limits);
}

/** Rows up to a number of bytes, but at least one. */
function upToBytes<Row extends { readonly bytes: number }>(rows: Iterable<Row>): readonly Row[] {
  const taken: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    taken.push(row);
    bytes += row.bytes;
    if (bytes >= bytesAtOnce) break;
  }
  return taken;
}

function bytesOf(rows: readonly { readonly bytes: number }[]): number {
  return rows.reduce((sum, row) => sum + row.bytes, 0);
}
