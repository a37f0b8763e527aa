/** What to draw of a call: spans and marks in lanes, on one axis of time. */
import type { Call, Event, HandlerState } from '../../api/shapes.ts';
import { maxListed } from '../../api/use-call.ts';
import { counted, duration } from '../../parts/format.ts';
import type { MarkKind } from './call-marks.tsx';
import { matchingHandlers } from './matching-handlers.ts';

export interface Mark {
  readonly at: number;
  readonly kind: MarkKind;
  /** What is written beside it, beyond what the legend says of its kind. */
  readonly label?: string;
  /** Its description, also for viewers who can't see the drawing. */
  readonly text: string;
}

export interface Span {
  readonly from: number;
  readonly to: number;
  readonly kind: 'talk' | 'analysis' | 'way' | 'repeats';
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
export function storyOf(
  call: Call,
  events: readonly Event[],
  handlers: readonly HandlerState[],
): readonly Lane[] {
  const known = new Map(events.map((event) => [event.traceId, event]));
  const shown =
    call.events.length > maxListed ? call.events.filter(({ traceId }) => known.has(traceId)) : call.events;
  const kept = shown.map(({ traceId }) => known.get(traceId)).filter((event) => event !== undefined);
  return [callLane(call), happenedLane(shown), arrivedLane(shown, kept), ...handlerLanes(kept, handlers)];
}

/** What happened when, and in which lane that is. */
export interface StoryEntry {
  readonly at: number;
  /** Whether it happened at some time after that. */
  readonly isAfter: boolean;
  readonly lane: string;
  readonly text: string;
}

/** Everything in the lanes, in order of time. */
export function entriesOf(lanes: readonly Lane[]): readonly StoryEntry[] {
  const entries = lanes.flatMap(({ name: lane, marks, spans }): StoryEntry[] => [
    ...spans.filter(isNamed).map(({ from, text }) => ({ at: from, isAfter: false, lane, text })),
    ...marks.map(({ at, kind, text }) => ({ at, isAfter: kind === 'first', lane, text })),
  ]);
  return entries.sort((one, other) => one.at - other.at);
}

/** Whether a span stands for itself: the others join marks. */
export function isNamed({ kind }: Span): boolean {
  return kind === 'talk' || kind === 'analysis';
}

function callLane(call: Call): Lane {
  const { startedAt, endedAt, transfer, analysis, lastSeenAt } = call;
  const spans: Span[] = [];
  const marks: Mark[] = [];
  // After a transfer that failed, the call goes on.
  const end = endedAt ?? (transfer?.status === 'failed' ? undefined : transfer?.at);
  if (startedAt !== undefined) {
    const [from, to] = [Date.parse(startedAt), Date.parse(end ?? lastSeenAt)];
    spans.push({
      from,
      to,
      kind: 'talk',
      text: end === undefined ? withoutEnd(call) : talkOf(call, to - from),
    });
  }
  if (analysis && end !== undefined && Date.parse(analysis.at) > Date.parse(end)) {
    const [from, to] = [Date.parse(end), Date.parse(analysis.at)];
    spans.push({ from, to, kind: 'analysis', text: `analysed after ${duration(to - from)}` });
  }
  if (transfer) {
    const text = `transferred${transfer.status === undefined ? '' : `: ${transfer.status}`}`;
    marks.push({ at: Date.parse(transfer.at), kind: 'transferred', label: text, text });
  }
  return { name: 'Call', marks, spans };
}

function withoutEnd({ status }: Call): string {
  return status === 'in_progress' ? 'not ended yet' : 'end not known';
}

/** Until the end, only the length that the API gives: it gives none if it doesn't trust the times. */
function talkOf({ endedAt, durationMs }: Call, untilTransfer: number): string {
  const lasted = endedAt === undefined ? untilTransfer : durationMs;
  return lasted === undefined || lasted < 0 ? 'talk of unknown length' : `talk ${duration(lasted)}`;
}

const kinds: Readonly<Record<string, MarkKind>> = {
  'CallHandler.CallStarted': 'started',
  'CallHandler.CallTransferred': 'transferred',
  'CallHandler.CallEnded': 'ended',
  'callAnalysis.pcaCompleted': 'analysed',
};

function happenedLane(events: Call['events']): Lane {
  const marks = events.map(({ name, occurredAt }): Mark => {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    const word = shortName(name);
    const at = Date.parse(occurredAt);
    if (kind === undefined) return { at, kind: 'happened', label: word, text: word };
    return { at, kind, label: kind, text: `${kind} (${word})` };
  });
  return { name: 'Happened', marks, spans: [] };
}

function arrivedLane(events: Call['events'], kept: readonly Event[]): Lane {
  const marks = events.map(({ name, occurredAt, receivedAt }): Mark => {
    const late = Date.parse(receivedAt) - Date.parse(occurredAt);
    const after = late > 0 ? `, ${duration(late)} later` : '';
    return { at: Date.parse(receivedAt), kind: 'arrived', text: `${shortName(name)} arrived${after}` };
  });
  const ways = events.map(({ name, occurredAt, receivedAt }): Span => {
    return { from: Date.parse(occurredAt), to: Date.parse(receivedAt), kind: 'way', text: shortName(name) };
  });
  const repeats = kept.flatMap(repeatsOf);
  return { name: 'Arrived', marks: [...marks, ...kept.flatMap(duplicatesOf)], spans: [...ways, ...repeats] };
}

/** The first and the last duplicate of an event: the times of those between them are not stored. */
function duplicatesOf({ eventName, duplicates }: Event): readonly Mark[] {
  if (!duplicates) return [];
  const { count, firstSeenAt, lastSeenAt } = duplicates;
  const [first, last] = [Date.parse(firstSeenAt), Date.parse(lastSeenAt)];
  const word = shortName(eventName);
  const label = counted(count, 'duplicate');
  const which = count === 1 ? 'a duplicate' : `the first of ${label}`;
  const marks: Mark[] = [{ at: first, kind: 'duplicate', label, text: `${word}: ${which} arrived` }];
  if (last > first)
    marks.push({ at: last, kind: 'duplicate', text: `${word}: the last of ${label} arrived` });
  return marks;
}

function repeatsOf({ eventName, duplicates }: Event): readonly Span[] {
  if (!duplicates) return [];
  const [from, to] = [Date.parse(duplicates.firstSeenAt), Date.parse(duplicates.lastSeenAt)];
  return to > from ? [{ from, to, kind: 'repeats', text: shortName(eventName) }] : [];
}

/** A lane for each handler that has stored runs, or takes an event of which it has none. */
function handlerLanes(events: readonly Event[], handlers: readonly HandlerState[]): readonly Lane[] {
  const lanes = new Map<string, Mark[]>();
  const add = (handler: string, marks: readonly Mark[]): void => {
    lanes.set(handler, [...(lanes.get(handler) ?? []), ...marks]);
  };
  for (const event of events) {
    const word = shortName(event.eventName);
    for (const run of event.runs) add(run.handler, attemptsOf(word, run));
    // What a handler has done of a new event is not known.
    if (event.state === 'new') continue;
    const stored = new Set(event.runs.map(({ handler }) => handler));
    for (const name of matchingHandlers(event.eventName, handlers))
      if (!stored.has(name)) add(name, [doneAtOnce(word, event)]);
  }
  return [...lanes].map(([name, marks]) => ({ name, marks, spans: [] }));
}

/** The run of an event that needs nothing more and has no row for this handler. It was not before the event came. */
function doneAtOnce(word: string, { receivedAt }: Event): Mark {
  const text = `${word}: done at the first attempt, some time after it arrived`;
  return { at: Date.parse(receivedAt), kind: 'first', text };
}

function attemptsOf(word: string, run: Event['runs'][number]): readonly Mark[] {
  const { state, attempts, reason, settledAt, dueAt, failures = [] } = run;
  const marks: Mark[] = failures.map(({ at, attempt, cause, outcome }) => ({
    at: Date.parse(at),
    kind: outcome === 'dead' ? 'dead' : 'failed',
    text: `${word}: attempt ${attempt} failed (${cause})`,
  }));
  const isShown = failures.some(({ outcome }) => outcome === 'dead');
  if (settledAt !== undefined && !(state === 'dead' && isShown)) {
    const kind = state === 'dead' ? 'dead' : 'done';
    // Of the runs that are done, only those that were dismissed have a reason.
    const isDismissed = kind === 'done' && reason !== undefined;
    const ended = isDismissed ? 'dismissed' : kind === 'dead' ? 'given up' : 'done';
    const isFirst = attempts === 1 && !isDismissed;
    const after = isFirst ? 'at the first attempt' : `after ${counted(attempts, 'attempt')}`;
    marks.push({ at: Date.parse(settledAt), kind, text: `${word}: ${ended} ${after}` });
  }
  // In 1970: at once.
  if (state === 'due' && dueAt !== undefined && Date.parse(dueAt) > 86_400_000)
    marks.push({ at: Date.parse(dueAt), kind: 'due', text: `${word}: next attempt` });
  return marks;
}

/** `CallEnded` of `CallHandler.CallEnded`. */
function shortName(eventName: string): string {
  return eventName.slice(eventName.lastIndexOf('.') + 1);
}
