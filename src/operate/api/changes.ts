/** Tells pages that are open what may have changed, as server-sent events, so that they ask again. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Activity } from '../../kit/activity.ts';
import type { Clock } from '../../kit/clock.ts';
import type { LogEvent } from '../../receiver/telemetry.ts';
import { ApiProblem } from './problem.ts';

/** What can have changed: parts of the API. */
const topics = [
  'events',
  'calls',
  'failures',
  'handlers',
  'quarantine',
  'drift',
  'audit',
  'history',
  'alerts',
] as const;
type Topic = (typeof topics)[number];

const ofRuns = ['events', 'calls', 'failures', 'handlers'] as const;
/** What an answer to a delivery changes; one that was refused may be in quarantine. */
const changedByAnswer: Readonly<Record<string, readonly Topic[]>> = {
  accepted: ['events', 'calls'],
  duplicate: [],
};
const changedOtherwise: readonly Topic[] = ['quarantine'];
/** What each log event changes, of those that are rare. */
const changedBy: Readonly<Partial<Record<LogEvent, readonly Topic[]>>> = {
  quarantine_released: ['quarantine', 'audit'],
  quarantine_reverified: ['quarantine', 'audit'],
  drift_seen: ['drift'],
  events_replayed: [...ofRuns, 'audit'],
  runs_dismissed: [...ofRuns, 'audit'],
  handler_paused: ['handlers', 'audit'],
  handler_resumed: ['handlers', 'audit'],
  alert_raised: ['alerts'],
  alert_over: ['alerts'],
  erased: topics,
};

/** How many pages are told at the same time: each is a connection that stays open. */
const maxStreams = 100;
/** How often one page is told at the most, in milliseconds. */
const pause = 1_000;
/** How often everything may have changed: of other processes' changes nobody hears. In milliseconds. */
const allPause = 5_000;
/** After how long a page has to connect again, so that `authorize` is asked again, in milliseconds. */
const lifetime = 300_000;

/** The pages that are open. While there is none, nothing is published. */
export class Changes {
  readonly #clock: Clock;
  readonly #activity: Activity;
  readonly #requireStarted: (method: string) => void;
  readonly #streams = new Set<Stream>();
  readonly #listeners = Object.entries(changedBy).map(([name, changed]) => ({
    channel: `ringback.${name}`,
    listener: () => this.#tell(changed),
  }));
  #endObserving = () => {};

  /** `requireStarted`: throws unless the receiver runs. */
  constructor(clock: Clock, activity: Activity, requireStarted: (method: string) => void) {
    this.#clock = clock;
    this.#activity = activity;
    this.#requireStarted = requireStarted;
  }

  /**
   * A stream of server-sent events for one page.
   *
   * @throws ApiProblem if there are too many; RingbackError `receiver_not_started`
   */
  open(): ReadableStream<Uint8Array> {
    this.#requireStarted('GET /changes');
    if (this.#streams.size >= maxStreams)
      throw new ApiProblem(503, 'too_many_streams', `At most ${maxStreams} pages are told of changes.`);
    const stream = new Stream(this.#clock, () => this.#ended(stream));
    if (this.#streams.size === 0) this.#listen();
    this.#streams.add(stream);
    return stream.body;
  }

  /** Ends every stream: a server that waits for its connections must be able to close. */
  close(): void {
    for (const stream of this.#streams) stream.end();
  }

  #listen(): void {
    for (const { channel, listener } of this.#listeners) subscribe(channel, listener);
    // Not by the log events of deliveries and runs: the fields of each would be computed for nothing else.
    this.#endObserving = this.#activity.observe({
      answered: (outcome) => this.#tell(changedByAnswer[outcome] ?? changedOtherwise),
      ran: () => this.#tell(ofRuns),
    });
  }

  #tell(changed: readonly Topic[]): void {
    for (const stream of this.#streams) stream.tell(changed);
  }

  #ended(stream: Stream): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
    for (const { channel, listener } of this.#listeners) unsubscribe(channel, listener);
    this.#endObserving();
  }
}

/** How many messages may wait for a page to read them. */
const maxUnread = 10;
const encoder = new TextEncoder();

class Stream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #changed = new Set<Topic>();
  readonly #timers = new Map<string, () => void>();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.body = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.#left(),
    });
    this.#after('end', lifetime, () => this.end());
    this.#after('all', allPause, () => this.#tellAll());
    // With the first bytes, the page and any proxy know that the stream is there.
    this.#write(': changes are told here\n\n');
  }

  /** Tells the page at once, or together with what else changes within the pause. */
  tell(changed: readonly Topic[]): void {
    for (const topic of changed) this.#changed.add(topic);
    if (!this.#timers.has('pause')) this.#send();
  }

  end(): void {
    this.#left();
    this.#controller?.close();
    this.#controller = undefined;
  }

  #tellAll(): void {
    this.tell(topics);
    this.#after('all', allPause, () => this.#tellAll());
  }

  #send(): void {
    this.#timers.delete('pause');
    if (this.#changed.size === 0) return;
    // What a page has not read must not pile up.
    if ((this.#controller?.desiredSize ?? 0) > -maxUnread) {
      this.#write(`event: changed\ndata: ${JSON.stringify({ topics: [...this.#changed] })}\n\n`);
      this.#changed.clear();
    }
    this.#after('pause', pause, () => this.#send());
  }

  #write(text: string): void {
    this.#controller?.enqueue(encoder.encode(text));
  }

  #left(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#onEnd();
  }

  #after(name: string, milliseconds: number, act: () => void): void {
    this.#timers.set(name, this.#clock.after(milliseconds, act));
  }
}
