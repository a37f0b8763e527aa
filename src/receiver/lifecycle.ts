import { z } from 'zod';
import { configError, ringbackError } from '../errors/errors.ts';
import type { Duration } from '../kit/duration.ts';
import { parseStrictly } from '../errors/option-problems.ts';
import { timeSpan } from './option-values.ts';
import type { ResolvedOptions } from './options.ts';
import { type ShortDuration, shortDurationsIn } from './short-durations.ts';
import { type Parts, wire } from './wiring.ts';

/** How `stop` ends the runs that are in flight. */
export interface StopOptions {
  /** How long active runs may take to end before they are interrupted. @default '10s' */
  readonly drain?: Duration | undefined;
}

/** How long a stop waits for a locked database once `drain` is over, in milliseconds. */
const lockTimeout = 5_000;

const stopSchema = z.strictObject({ drain: timeSpan.default(10_000) });

type State = 'created' | 'starting' | 'started' | 'stopping' | 'stopped';

/** Starts and stops a receiver: opens its parts in order, and closes them in reverse. */
export class Lifecycle {
  readonly parts: Parts;
  readonly #options: ResolvedOptions;
  readonly #shortDurations: readonly ShortDuration[];
  #state: State = 'created';
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isInboxOpen = false;
  #isDatabaseOffered = false;
  #isDatabaseReplaced = false;

  /** @param shortDurations those in the options; reported at start */
  constructor(options: ResolvedOptions, shortDurations: readonly ShortDuration[]) {
    this.#options = options;
    this.#shortDurations = shortDurations;
    this.parts = wire(options, {
      requireStarted: this.requireStarted,
      onReplaced: () => void this.#endWork(),
    });
  }

  /** Whether deliveries are taken and, as far as known, can be stored. */
  get isReady(): boolean {
    return this.#isOpen && this.parts.health.isWritable;
  }

  /** Finds out whether a delivery would be stored now. */
  async checkReady(): Promise<boolean> {
    return this.#isOpen && (await this.parts.health.check()) && this.isReady;
  }

  /** Whether deliveries are taken: between start and stop, while the database is in its place. */
  get #isOpen(): boolean {
    return this.#state === 'started' && !this.#isDatabaseReplaced;
  }

  /**
   * Requires an open inbox, not a ready receiver: handlers may use the inbox, and they already run before `start` has
   * resolved and still run while `stop` drains.
   */
  readonly requireStarted = (method: string): void => {
    if (!this.#isInboxOpen) throw ringbackError('receiver_not_started', { method });
  };

  /** Only opens the inbox: nothing is taken, claimed or removed. `start` may follow. */
  async openInbox(): Promise<void> {
    this.parts.registry.close();
    try {
      await this.parts.store.open();
      this.#isInboxOpen = true;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async start(): Promise<void> {
    if (this.#state === 'starting' || this.#state === 'started') throw configError('receiver_started');
    if (this.#state !== 'created') throw configError('receiver_stopped');
    this.#enter('starting');
    this.#starting = this.#open();
    await this.#starting;
  }

  async stop(options: StopOptions): Promise<void> {
    const { drain } = parseStrictly(stopSchema, options, 'stop');
    this.#reportShort(shortDurationsIn(stopSchema, options));
    if (this.#state === 'created') this.#stopping = this.#closeUnstarted();
    // A start that fails closes what it opened, and rejects only for its own caller.
    if (this.#state === 'starting') await this.#untilStarted(drain);
    if (this.#state === 'started') this.#stopping = this.#drain(drain);
    await this.#stopping;
  }

  /** Returns the inbox's database. That opens it, so `stop` must close it even if the receiver was never started. */
  offerDatabase(): NonNullable<Parts['store']['database']> {
    const { database, name } = this.parts.store;
    if (this.#state === 'stopped') throw ringbackError('database_closed', { database: name });
    if (!database) throw ringbackError('database_not_offered', { database: name });
    this.#isDatabaseOffered = true;
    return database;
  }

  #enter(state: State): void {
    this.#state = state;
    this.parts.intake.state = this.#isOpen ? 'open' : 'closed';
  }

  async #open(): Promise<void> {
    const { authenticator, dispatcher, retention, history, events } = this.parts;
    if (!this.#isInboxOpen) await this.openInbox();
    try {
      await authenticator.load();
      await dispatcher.start();
    } catch (error) {
      await dispatcher.stop(0);
      await this.#close();
      throw error;
    }
    this.#enter('started');
    retention.start();
    history.start();
    void events.bulk.resume();
    this.#reportStart();
  }

  /** Ends all work once the database was replaced: it could not be stored, and would be done again after the restart. */
  async #endWork(): Promise<void> {
    this.#isDatabaseReplaced = true;
    this.#enter(this.#state);
    const { dispatcher, health, events, reconciliation } = this.parts;
    health.stop();
    reconciliation.stop();
    await dispatcher.stop(0);
    await events.bulk.close();
    await this.#stopKeeping();
  }

  /** Writes the counts that are left, and ends alerts and cleaning. */
  async #stopKeeping(): Promise<void> {
    const { drift, duplicates, history, alerts, retention } = this.parts;
    await drift.stop();
    await duplicates.stop();
    await history.stop();
    await alerts.stop();
    await retention.stop();
  }

  async #untilStarted(drain: number): Promise<void> {
    const cancel = this.#abandonAfter(drain);
    await this.#starting?.catch(() => {});
    cancel();
  }

  /**
   * Gives up on a locked database after a while: another process must not keep this one from ending. Runs whose end
   * can't be written are run again. Returns a function that cancels this.
   */
  #abandonAfter(drain: number): () => void {
    return this.#options.clock.after(drain + lockTimeout, () => this.parts.store.abandon());
  }

  async #drain(timeout: number): Promise<void> {
    this.#enter('stopping');
    const { telemetry, intake, dispatcher, health, changes, reconciliation } = this.parts;
    telemetry.report('receiver_stopping');
    health.stop();
    changes.close();
    reconciliation.stop();
    // Dispatcher and intake drain at the same time. One after the other, a sender that stalls after half a body could
    // double the time.
    const dispatched = dispatcher.stop(timeout);
    const cancel = this.#abandonAfter(timeout);
    await intake.drained(timeout);
    await dispatched;
    await this.#stopKeeping();
    await this.#close();
    cancel();
    intake.flushLog();
    telemetry.report('receiver_stopped');
  }

  /** Makes a later `start` fail: a signal to stop that comes while the app is set up must not be lost. */
  async #closeUnstarted(): Promise<void> {
    this.#enter('stopped');
    // What was released from quarantine has been compared with its documentation.
    if (this.#isInboxOpen) await this.parts.drift.stop();
    if (this.#isInboxOpen || this.#isDatabaseOffered) await this.#close();
  }

  async #close(): Promise<void> {
    this.parts.reconciliation.stop();
    await this.parts.events.bulk.close();
    this.#isInboxOpen = false;
    // After a failed start, or without one, nothing may use the receiver while the store closes.
    if (this.#state !== 'stopping') this.#enter('stopped');
    await this.parts.store.close();
    this.#enter('stopped');
  }

  #reportStart(): void {
    const { https, secrets } = this.#options;
    const { telemetry, store, registry } = this.parts;
    telemetry.report('receiver_started', {
      database: store.name,
      handlers: registry.all.map((handler) => handler.name),
    });
    for (const name of registry.misspelled) telemetry.report('event_name_unknown', name);
    this.#reportShort([...this.#shortDurations, ...registry.shortDurations]);
    if (!https.required) telemetry.report('https_not_required');
    if (secrets === undefined) telemetry.report('signature_not_checked');
  }

  #reportShort(durations: readonly ShortDuration[]): void {
    for (const short of durations) this.parts.telemetry.report('duration_suspicious', { ...short });
  }
}
