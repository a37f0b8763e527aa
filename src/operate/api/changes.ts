/** Tells open pages by server-sent events what may have changed, so that they ask again. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Activity } from '../../kit/activity.ts';
import type { Clock } from '../../kit/clock.ts';
import type { LogEvent } from '../../receiver/telemetry.ts';
import { ApiProblem } from './problem.ts';

/** Where the stream of changes is. */
export const changesPath = '/changes';

/** The parts of the API that can change. */
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

/** What an answer to a delivery changes; a refused delivery may be in quarantine. */
const changedByAnswer: Readonly<Record<string, readonly Topic[]>> = {
  accepted: ['events', 'calls'],
  duplicate: [],
};
const changedOtherwise: readonly Topic[] = ['quarantine'];
const changedByRun: readonly Topic[] = ['events', 'calls', 'failures', 'handlers'];
/** Log events that are too rare to say of each which lists it changes: after them, all may have changed. */
const rare: readonly LogEvent[] = [
  'quarantine_released',
  'drift_seen',
  'events_replayed',
  'runs_dismissed',
  'alert_raised',
  'alert_over',
  'erased',
];

/** How many pages can listen at the same time: each is a connection that stays open. */
const maxStreams = 100;
/** The shortest time between two messages to one page, in milliseconds. */
const pause = 1_000;
/** How often everything counts as changed, because changes by other processes go unnoticed. In milliseconds. */
const allPause = 5_000;
/** After how long a page must reconnect, so that `authorize` is asked again, in milliseconds. */
const lifetime = 300_000;

/** The streams of the open pages. Without any, it subscribes to nothing. */
export class Changes {
  readonly #clock: Clock;
  readonly #activity: Activity;
  readonly #requireStarted: (method: string) => void;
  readonly #streams = new Set<Stream>();
  readonly #onRare = () => this.#notify(topics);
  #endObserving = () => {};

  /** `requireStarted` throws unless the receiver runs. */
  constructor(clock: Clock, activity: Activity, requireStarted: (method: string) => void) {
    this.#clock = clock;
    this.#activity = activity;
    this.#requireStarted = requireStarted;
  }

  /**
   * Opens a stream of server-sent events for one page.
   *
   * @throws ApiProblem if there are too many; RingbackError `receiver_not_started`
   */
  open(): ReadableStream<Uint8Array> {
    this.#requireStarted('GET /changes');
    if (this.#streams.size >= maxStreams)
      throw new ApiProblem(
        503,
        'too_many_streams',
        `At most ${maxStreams} pages can follow changes at once.`,
      );
    const stream = new Stream(this.#clock, () => this.#ended(stream));
    if (this.#streams.size === 0) this.#listen();
    this.#streams.add(stream);
    return stream.body;
  }

  /** Tells of a change by a person, which is as rare. */
  recorded(): void {
    this.#notify(topics);
  }

  /** Ends every stream, so that a server that waits for its connections can close. */
  close(): void {
    for (const stream of this.#streams) stream.end();
  }

  #listen(): void {
    for (const name of rare) subscribe(`ringback.${name}`, this.#onRare);
    // Not by the log events of deliveries and runs, whose fields would be computed only for this.
    this.#endObserving = this.#activity.observe({
      answered: (outcome) => this.#notify(changedByAnswer[outcome] ?? changedOtherwise),
      ran: () => this.#notify(changedByRun),
    });
  }

  #notify(changed: readonly Topic[]): void {
    for (const stream of this.#streams) stream.notify(changed);
  }

  #ended(stream: Stream): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
    for (const name of rare) unsubscribe(`ringback.${name}`, this.#onRare);
    this.#endObserving();
  }
}

/** How many unread messages a stream buffers. */
const maxUnread = 10;
const encoder = new TextEncoder();

class Stream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  /**
   * Only lists that are constants, so that few wait for a page that doesn't read: adding their topics one by one would
   * cost more.
   */
  readonly #changed = new Set<readonly Topic[]>();
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
    this.#after('all', allPause, () => this.#notifyAll());
    // The first bytes show the page and any proxy that the stream is open.
    this.#write(': changes are reported here\n\n');
  }

  /** Sends at once, or after the pause together with further changes. */
  notify(changed: readonly Topic[]): void {
    this.#changed.add(changed);
    if (!this.#timers.has('pause')) this.#send();
  }

  end(): void {
    this.#left();
    this.#controller?.close();
    this.#controller = undefined;
  }

  #notifyAll(): void {
    this.notify(topics);
    this.#after('all', allPause, () => this.#notifyAll());
  }

  #send(): void {
    this.#timers.delete('pause');
    const changed = new Set([...this.#changed].flat());
    if (changed.size === 0) return;
    // Messages for a page that doesn't read must not pile up.
    if ((this.#controller?.desiredSize ?? 0) > -maxUnread) {
      this.#write(`event: changed\ndata: ${JSON.stringify({ topics: [...changed] })}\n\n`);
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
