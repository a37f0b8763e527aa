/** What to draw of a call: spans and marks in lanes, on one axis of time. */
import type { Call, Event } from '../api/shapes.ts';
import { maxListed } from '../api/use-call.ts';
import { duration } from '../parts/format.ts';

export interface Mark {
  readonly at: number;
  readonly kind: 'happened' | 'arrived' | 'done' | 'failed' | 'dead' | 'due' | 'transfer';
  /** Its description, also for viewers who can't see the drawing. */
  readonly text: string;
}

export interface Span {
  readonly from: number;
  readonly to: number;
  readonly kind: 'talk' | 'analysis' | 'way';
  readonly text: string;
}

export interface Lane {
  readonly name: string;
  readonly marks: readonly Mark[];
  readonly spans: readonly Span[];
}

/**
 * For a call with more events than `maxListed`, only the listed `events` are drawn: a call whose id is a placeholder
 * may have tens of thousands, and a browser would draw them for minutes.
 */
export function storyOf(call: Call, events: readonly Event[]): readonly Lane[] {
  const known = new Map(events.map((event) => [event.traceId, event]));
  const told =
    call.events.length > maxListed ? call.events.filter(({ traceId }) => known.has(traceId)) : call.events;
  return [callLane(call), happenedLane(told), arrivedLane(told), ...handlerLanes(told, known)];
}

/** All marks with their lanes, in order of time. */
export function tellingOf(lanes: readonly Lane[]): readonly (Mark & { readonly lane: string })[] {
  return lanes
    .flatMap(({ name, marks }) => marks.map((mark) => ({ ...mark, lane: name })))
    .sort((one, other) => one.at - other.at);
}

function callLane({ startedAt, endedAt, durationMs, transfer, analysis, lastSeenAt }: Call): Lane {
  const spans: Span[] = [];
  const marks: Mark[] = [];
  const end = endedAt ?? transfer?.at;
  if (startedAt !== undefined) {
    const lasted = durationMs ?? (end === undefined ? undefined : Date.parse(end) - Date.parse(startedAt));
    spans.push({
      from: Date.parse(startedAt),
      to: Date.parse(end ?? lastSeenAt),
      kind: 'talk',
      text: lasted === undefined ? 'not ended yet' : `talk ${duration(Math.max(0, lasted))}`,
    });
  }
  if (analysis && end !== undefined && Date.parse(analysis.at) > Date.parse(end)) {
    const [from, to] = [Date.parse(end), Date.parse(analysis.at)];
    spans.push({ from, to, kind: 'analysis', text: `analysed after ${duration(to - from)}` });
  }
  if (transfer) {
    const how = transfer.status === undefined ? '' : `: ${transfer.status}`;
    marks.push({ at: Date.parse(transfer.at), kind: 'transfer', text: `transferred${how}` });
  }
  return { name: 'Call', marks, spans };
}

function happenedLane(events: Call['events']): Lane {
  const marks = events.map(({ name, occurredAt }): Mark => {
    return { at: Date.parse(occurredAt), kind: 'happened', text: shortName(name) };
  });
  return { name: 'Happened', marks, spans: [] };
}

function arrivedLane(events: Call['events']): Lane {
  const marks = events.map(({ name, occurredAt, receivedAt }): Mark => {
    const late = Date.parse(receivedAt) - Date.parse(occurredAt);
    const after = late > 0 ? `, ${duration(late)} later` : '';
    return { at: Date.parse(receivedAt), kind: 'arrived', text: `${shortName(name)} arrived${after}` };
  });
  const spans = events.map(({ name, occurredAt, receivedAt }): Span => {
    return { from: Date.parse(occurredAt), to: Date.parse(receivedAt), kind: 'way', text: shortName(name) };
  });
  return { name: 'Arrived', marks, spans };
}

/** A lane for each handler with stored runs. */
function handlerLanes(events: Call['events'], known: ReadonlyMap<string, Event>): readonly Lane[] {
  const lanes = new Map<string, Mark[]>();
  for (const { traceId, name } of events) {
    for (const run of known.get(traceId)?.runs ?? []) {
      const marks = lanes.get(run.handler) ?? [];
      lanes.set(run.handler, marks);
      for (const { at, attempt, cause, outcome } of run.failures ?? [])
        marks.push({
          at: Date.parse(at),
          kind: outcome === 'dead' ? 'dead' : 'failed',
          text: `${shortName(name)}: attempt ${attempt} failed (${cause})`,
        });
      const isTold = run.failures?.some(({ outcome }) => outcome === 'dead') === true;
      if (run.settledAt !== undefined && !(run.state === 'dead' && isTold))
        marks.push({
          at: Date.parse(run.settledAt),
          kind: run.state === 'dead' ? 'dead' : 'done',
          text: `${shortName(name)}: ${run.state === 'dead' ? 'given up' : 'done'} after ${run.attempts} attempts`,
        });
      if (run.state === 'due' && run.dueAt !== undefined && Date.parse(run.dueAt) > 86_400_000)
        marks.push({ at: Date.parse(run.dueAt), kind: 'due', text: `${shortName(name)}: next attempt` });
    }
  }
  return [...lanes].map(([name, marks]) => ({ name, marks, spans: [] }));
}

/** `CallEnded` of `CallHandler.CallEnded`. */
function shortName(eventName: string): string {
  return eventName.slice(eventName.lastIndexOf('.') + 1);
}
