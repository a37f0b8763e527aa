import type { Statement } from 'better-sqlite3';
import { ringbackError } from '../../errors.ts';
import type { Connection, Database } from '../database.ts';
import type { GatheredWrites } from './gathered-writes.ts';
import {
  type ComingEvent,
  type DeliveryRow,
  type DeliveryState,
  type EventRow,
  type PendingDelivery,
  deliveryRowOf,
  eventOf,
  eventRowOf,
  tables,
} from './outbox-rows.ts';

/** A delivery that will not be retried. */
export interface GivenUpDelivery {
  readonly traceId: string;
  readonly callId: string;
  readonly eventName: string;
  readonly subscriptionId: string;
  /** How many were made before the delivery was given up. */
  readonly attempts: number;
}

/** The events and the progress of their deliveries, on disk: a sandbox that starts again continues where it stopped. */
export class Outbox {
  readonly #connection: Connection;
  readonly #writes: GatheredWrites;
  readonly #insertEvent: Statement<[EventRow]>;
  readonly #markHappened: Statement<[string]>;
  readonly #insertDelivery: Statement<[traceId: string, subscriptionId: string, dueAt: number]>;
  readonly #updateDelivery: Statement<[DeliveryRow]>;

  /** @internal */
  constructor(database: Database, writes: GatheredWrites) {
    database.create(tables);
    const { connection } = database;
    this.#connection = connection;
    this.#writes = writes;
    this.#insertEvent = connection.prepare(`
      insert into events values (@trace_id, @event_name, @organization_id, @agent_id, @workspace_id, @call_id, @body,
        @happens_at, 0)`);
    this.#markHappened = connection.prepare('update events set has_happened = 1 where trace_id = ?');
    this.#insertDelivery = connection.prepare("insert into deliveries values (?, ?, 'due', 0, ?)");
    this.#updateDelivery = connection.prepare(`
      update deliveries set state = @state, attempts = @attempts, due_at = @due_at
      where trace_id = @trace_id and subscription_id = @subscription_id`);
  }

  /** Stores an event that is to happen. */
  expect(coming: ComingEvent): void {
    this.#writes.add(() => this.#insertEvent.run(eventRowOf(coming)));
  }

  /** Stores that an event has happened and is to be delivered to these subscriptions. */
  happened(traceId: string, subscriptionIds: readonly string[], now: number): void {
    this.#writes.add(() => {
      this.#markHappened.run(traceId);
      for (const id of subscriptionIds) this.#insertDelivery.run(traceId, id, now);
    });
  }

  /** Stores how far a delivery has come: `due` means that another attempt follows. */
  update(delivery: PendingDelivery, state: DeliveryState): void {
    this.#writes.add(() => this.#updateDelivery.run(deliveryRowOf(delivery, state)));
  }

  /** The events that have not happened yet, in the order of their times. */
  comingEvents(): readonly ComingEvent[] {
    this.#writes.flush();
    return this.#connection
      .prepare<[], EventRow>('select * from events where has_happened = 0 order by happens_at')
      .all()
      .map((row) => ({ event: eventOf(row), happensAt: row.happens_at }));
  }

  /** The deliveries that are neither made nor given up, in the order in which they are due. */
  pendingDeliveries(): readonly PendingDelivery[] {
    this.#writes.flush();
    return this.#connection
      .prepare<[], EventRow & DeliveryRow>(
        `select * from deliveries join events using (trace_id) where state = 'due'
         order by due_at`,
      )
      .all()
      .map((row) => ({
        event: eventOf(row),
        subscriptionId: row.subscription_id,
        attempts: row.attempts,
        dueAt: row.due_at,
      }));
  }

  /**
   * The deliveries that were given up, in the order in which their events happened.
   *
   * @throws RingbackError `sandbox_not_running` after `stop`
   */
  givenUp(): readonly GivenUpDelivery[] {
    if (!this.#connection.open)
      throw ringbackError('sandbox_not_running', { method: 'deliveries.givenUp()' });
    this.#writes.flush();
    return this.#connection
      .prepare<[], GivenUpDelivery>(
        `select trace_id as traceId, call_id as callId, event_name as eventName,
           subscription_id as subscriptionId, attempts
         from deliveries join events using (trace_id) where state = 'given_up'
         order by happens_at, trace_id, subscription_id`,
      )
      .all();
  }
}
