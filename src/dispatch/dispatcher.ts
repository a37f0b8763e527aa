import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { BodyDecoder } from '../events/decoding.ts';
import type { CallEvent } from '../events/model.ts';
import type { Activity } from '../kit/activity.ts';
import { type Clock, type Random, atOnceOrAfter } from '../kit/clock.ts';
import type { Tracing } from '../kit/tracing.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { EventRecord } from '../store/event-record.ts';
import type { Backlog, HistoryStore } from '../store/history-store.ts';
import type { Recording, Store } from '../store/store.ts';
import { lookBack, reportHandlers } from './at-start.ts';
import { Attempts } from './attempt.ts';
import { Claimer } from './claimer.ts';
import { Heartbeat } from './heartbeat.ts';
import type { HandlerLanes } from './lanes.ts';
import { InFlight, type Loop } from './in-flight.ts';
import { Placer } from './placer.ts';
import { PoisonRuns } from './poison.ts';
import { Rates } from './rates.ts';
import type { Registry } from './registry.ts';
import { type EndedAttempt, type Run, mayBePoison } from './run.ts';
import { Settler } from './settler.ts';

interface DispatcherParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly decoder: BodyDecoder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly activity: Activity;
  readonly tracing: Tracing;
  /** Observes each new event after its answer and before its handlers, which may change the event. */
  readonly drift: { observe(event: CallEvent, receivedAt: number): void };
}

/** Takes events from the inbox to the handlers: claim → route → run → settle. */
export class Dispatcher implements Loop {
  readonly #parts: DispatcherParts;
  readonly inFlight: InFlight;
  readonly #attempts: Attempts;
  readonly #heartbeat: Heartbeat;
  readonly #poison: PoisonRuns;
  readonly #rates: Rates;
  readonly #placer: Placer;
  readonly #claimer: Claimer;
  readonly #stop = new AbortController();
  #state: 'created' | 'running' | 'stopping' = 'created';

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { registry, telemetry, clock } = parts;
    // Every active run listens for the stop; beyond ten listeners, Node would warn of a leak.
    setMaxListeners(0, this.#stop.signal);
    const common = { ...parts, stop: this.#stop.signal, loop: this };
    const settler = new Settler(common);
    this.inFlight = new InFlight(telemetry);
    this.#attempts = new Attempts({ ...common, settler, onInvoked: (run) => this.#poison.invoked(run) });
    this.#poison = new PoisonRuns(registry.lanes, clock, this);
    this.#rates = new Rates(common);
    this.#placer = new Placer({ ...common, settler, poison: this.#poison });
    this.#heartbeat = new Heartbeat({ ...common, requeue: (run) => this.#placer.requeue(run) });
    this.#claimer = new Claimer({ ...common, placer: this.#placer });
  }

  /** Whether `start` or `stop` was called: this process runs handlers, or ends those that have begun. */
  get hasBegun(): boolean {
    return this.#state !== 'created';
  }

  /** Milliseconds until the first handler that waits for its rate may begin a run. */
  get nextStartIn(): number | undefined {
    return this.#rates.nextIn;
  }

  /** What waits in the inbox, and what this process has claimed and not begun (`held`): a handler may be slow, or hang. */
  async backlog(store: Pick<HistoryStore, 'backlog'>): Promise<Backlog & { readonly held: number }> {
    const now = this.#parts.clock.now();
    const { waiting, oldest = Infinity } = await store.backlog(now);
    const runs = this.#parts.registry.lanes.flatMap(({ unbegun }) => unbegun);
    const least = runs.reduce((min, { claimed }) => Math.min(min, claimed.waitsSince ?? now), oldest);
    const held = runs.length;
    return { waiting: waiting + held, held, oldest: Number.isFinite(least) ? least : undefined };
  }

  /** How many runs of a handler this process has claimed: those that have not begun, and those that are in the handler. */
  claimedOf(name: string): { readonly waiting: number; readonly active: number } | undefined {
    const lanes = this.#parts.registry.lanesByName.get(name);
    return lanes && { waiting: lanes.unbegun.length, active: lanes.active };
  }

  /** Takes over the claims of dead processes, logs which handlers differ from the inbox's, and begins to claim. */
  async start(): Promise<void> {
    const { store, telemetry, registry } = this.#parts;
    await this.#heartbeat.start();
    for (const { name, order } of registry.all) if (order !== 'strict') await store.unblock(name);
    await reportHandlers(store, telemetry, new Set(registry.all.map(({ name }) => name)));
    // The database may have been replaced meanwhile, and the dispatcher stopped.
    if (this.#state === 'stopping') return;
    this.#state = 'running';
    this.#lookBack();
    this.#claimer.start();
  }

  /**
   * Records a new event, and runs its handlers once it has been answered. If there is room, the write that records the
   * event also claims it, which saves a transaction and a second reading.
   */
  recordAndRun(record: EventRecord, event: CallEvent): Promise<'new' | 'duplicate'> {
    const isReserved = this.#claimer.reserveRoom();
    const recording = this.#parts.store.record(record, isReserved);
    void this.#placeRecorded(recording, record, event, isReserved);
    return recording.written;
  }

  /** Begins the runs that may begin. */
  beginReady(): void {
    if (this.#state !== 'running') return;
    for (const lanes of this.#poison.lanesInOrder) {
      for (let run = this.#next(lanes); run; run = this.#next(lanes)) {
        this.inFlight.track(this.#perform(lanes, run));
      }
    }
  }

  /** Begins what may begin, and claims more if there is room. `lanes`: those of which a run has ended. */
  advance(lanes?: HandlerLanes): void {
    this.beginReady();
    if (this.#claimer.mayClaimMore(lanes)) this.#claimer.look();
  }

  /** Looks for work. Called when there may be new due runs in the inbox. */
  wake(): void {
    this.#claimer.wake();
  }

  /** Reads at once which handlers are paused. Other processes do so with their next heartbeat. */
  refreshPauses(): Promise<void> {
    return this.#heartbeat.refreshPauses();
  }

  /** Begins nothing new, gives active runs `timeout` milliseconds to end, then interrupts them. */
  async stop(timeout: number): Promise<void> {
    this.#state = 'stopping';
    // The heartbeat goes on until the last run has ended: otherwise other processes would take these runs over.
    this.#heartbeat.drain();
    this.#claimer.stop();
    this.#placer.stop();
    this.#poison.stop();
    this.#rates.stop();
    for (const lanes of this.#parts.registry.lanes) lanes.clear();
    const interrupt = () => this.#stop.abort(new Error('stopped'));
    const cancel = atOnceOrAfter(this.#parts.clock, timeout, interrupt);
    await this.inFlight.drained();
    this.#heartbeat.stop();
    cancel();
  }

  /** Places a new event if it was claimed, else looks for work in the inbox. */
  async #placeRecorded(
    { written, claimed }: Recording,
    { source, receivedAt }: EventRecord,
    event: CallEvent,
    isReserved: boolean,
  ): Promise<void> {
    // Awaited before anything else, so that events are placed in the order in which they were claimed. Also if the write
    // was too late for the sender: the event is on disk, and the next delivery will be a duplicate.
    const found = await claimed;
    if (!found) {
      if (isReserved) this.#claimer.releaseRoom();
      if ((await written.catch(() => 'duplicate')) !== 'new') return;
    }
    await this.#placer.afterAnswers(() => {
      // A rebuilt event says nothing about what the platform sends.
      if (source === 'delivered') this.#parts.drift.observe(event, receivedAt);
      if (!found) return this.#claimer.look();
      this.#claimer.releaseRoom();
      this.#placer.placeEvent(found, event);
    });
  }

  /** Takes the next run that may begin. */
  #next(lanes: HandlerLanes): Run | undefined {
    const { rate } = lanes.handler;
    if (rate && !this.#rates.mayBegin(lanes, rate)) return undefined;
    const run = lanes.next(this.#poison.alone === undefined);
    if (run && rate) this.#rates.began(lanes);
    if (run && mayBePoison(run.claimed)) this.#poison.began(lanes, run);
    return run;
  }

  /** Makes an attempt of a run, and lets others begin as its slot, its call and its memory become free. */
  async #perform(lanes: HandlerLanes, run: Run): Promise<void> {
    let ended: EndedAttempt | undefined;
    try {
      try {
        ended = await this.#attempts.make(run);
      } finally {
        // The next run begins while this one is being settled: slots are few, and one commit settles many runs.
        lanes.freeSlot(run);
        this.beginReady();
      }
      const state = ended && (await this.#attempts.settle(ended));
      const isStrict = lanes.handler.order === 'strict';
      const isWaiting = state?.kind === 'due';
      // With order `strict`, the runs behind a failed one go back to the inbox until that one is done or dead. So they
      // do if the claim was lost: the failure may have been written by a commit whose answer never came.
      if (isStrict && (isWaiting || state === undefined)) {
        for (const follower of lanes.takeFollowers(run)) this.#placer.requeue(follower);
      }
      if (isWaiting || isStrict) this.wake();
    } finally {
      if (mayBePoison(run.claimed)) this.#poison.ended(run);
      lanes.finish(run);
      this.advance(lanes);
    }
  }

  /** Lets each join look back, in the background, so that deliveries don't wait for it. */
  #lookBack(): void {
    const { registry, store, telemetry, clock } = this.#parts;
    const isStopping = () => this.#state === 'stopping';
    const parts = { store, telemetry, clock, isStopping, stop: this.#stop.signal, loop: this };
    for (const handler of registry.all) this.inFlight.track(lookBack(handler, parts));
  }
}
