import type Database from 'better-sqlite3';
import {
  type FailureRow,
  type KeptEventRow,
  type KeptRunRow,
  type StoredEventRow,
  duplicateColumns,
  keptEventOf,
  storedEventOf,
  withFailures,
} from '../../shared/event-rows.ts';
import type { EventStretch, KeptEvent, KeptEventWithBytes, StoredEvent } from '../../event-store.ts';
import {
  type Sequence,
  bodyIdentity,
  headerIdentity,
  identityKey,
  signedHeaderIdentity,
} from '../../event-record.ts';
import { withErasOf } from '../dedupe/eras.ts';
import { eventState } from '../work/open-runs.ts';
import { storedJson } from '../../shared/altered-rows.ts';
import { asBytes, asInteger, asText } from '../connection/parameters.ts';

type WholeRow = KeptEventRow & StoredEventRow;

/** The most bytes of bodies in one stretch: all of it is read in one turn of the event loop. */
const stretchBytes = 4 * 1024 * 1024;

const summary = `e.sequence, e.trace_id, e.source, e.event_name, e.call_id, e.organization_id, e.agent_id, e.occurred_at,
  e.received_at, ${eventState} as state, ${duplicateColumns}`;

/** Reads stored events. */
export function prepareEvents(database: Database.Database) {
  const selectSummary = database.prepare(
    `select ${summary} from events e left join duplicates d using (sequence) where e.sequence = ${asInteger('?')}`,
  );
  const selectWhole = database.prepare(
    `select ${summary}, b.headers, b.body from events e join bodies b using (sequence) left join duplicates d using (sequence)
     where e.sequence = ${asInteger('?')}`,
  );
  const selectRuns = database.prepare(`
    select handler, state, attempts, due_at, reason, settled_at, replay from runs where sequence = ${asInteger('?')}
    order by handler`);
  const selectFailures = database.prepare(`
    select handler, attempt, at, duration, outcome, cause, location, reason from failures
    where sequence = ${asInteger('?')} order by handler, number desc`);
  // Searches the identities, because trace ids have no index. Two events may have the same trace id, in one's body and
  // in the other's header: then one that is not done is preferred, or else the first.
  const keys = ['@ofBody', '@ofSigned', '@ofHeader', '@ofItself'].map(asBytes).join(', ');
  const sequenceOf = database
    .prepare(
      `${withErasOf('identities')}
       select e.sequence from eras
       cross join identities i on i.era = eras.era and i.identity in (${keys})
       join events e using (sequence) where e.trace_id = ${asText('@traceId')}
       order by ${eventState} = 'done', e.sequence limit 1`,
    )
    .pluck();
  const lastSequence = database.prepare('select coalesce(max(sequence), 0) from events').pluck();
  const keysOf = (traceId: string) => ({
    ofBody: identityKey(bodyIdentity(traceId)),
    ofSigned: identityKey(signedHeaderIdentity(traceId)),
    ofHeader: identityKey(headerIdentity(traceId)),
    // The key of an event whose trace id is a digest, or that was reconciled.
    ofItself: identityKey(traceId),
  });

  const withRuns = (row: KeptEventRow): KeptEvent =>
    keptEventOf(row, selectRuns.all(row.sequence) as KeptRunRow[]);

  return {
    get(traceId: string): KeptEventWithBytes | undefined {
      const sequence = sequenceOf.get({ traceId, ...keysOf(traceId) }) as Sequence | undefined;
      if (sequence === undefined) return undefined;
      const row = selectWhole.get(sequence) as WholeRow;
      const event = withRuns(row);
      return {
        ...event,
        runs: withFailures(event.runs, selectFailures.all(sequence) as FailureRow[]),
        headers: storedJson(row.headers, 'bodies.headers', sequence),
        body: row.body,
      };
    },

    /** Events without their bodies, in the given order. */
    summaries(sequences: readonly Sequence[]): KeptEvent[] {
      const rows = sequences.map((sequence) => selectSummary.get(sequence) as KeptEventRow | undefined);
      return rows.filter((row) => row !== undefined).map(withRuns);
    },

    /** Events with their bodies, up to `stretchBytes`. `reached` is where the search for `sequences` ended. */
    stretch(sequences: readonly Sequence[], reached: Sequence): EventStretch {
      const events: StoredEvent[] = [];
      let bytes = 0;
      for (const sequence of sequences) {
        const row = selectWhole.get(sequence) as WholeRow | undefined;
        if (row) events.push(storedEventOf(row));
        bytes += row?.body.length ?? 0;
        if (bytes >= stretchBytes) return { events, reached: sequence };
      }
      return { events, reached };
    },

    lastSequence: () => lastSequence.get() as Sequence,
  };
}
