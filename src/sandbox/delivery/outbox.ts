import type { Statement } from 'better-sqlite3';
import { ringbackError } from '../../errors.ts';
import type { Connection, Database } from '../database.ts';
import type { SandboxEvent } from '../model.ts';
import type { GatheredWrites } from './gathered-writes.ts';

const tables = `
  create table if not exists events (
    trace_id text primary key,
    event_name text not null,
    organization_id text not null,
    agent_id text not null,
    workspace_id text,
    call_id text not null,
    body blob not null,
    happens_at real not null,
    has_happened integer not null
  ) strict;
  create index if not exists events_to_come on events (happens_at) where has_happened = 0;
  create table if not exists deliveries (
    trace_id text not null references events (trace_id),
    subscription_id text not null,
    state text not null check (state in ('due', 'delivered', 'given_up')),
    attempts integer not null,
    due_at real not null,
    primary key (trace_id, subscription_id)
  ) strict, without rowid;
  create index if not exists deliveries_due on deliveries (state) where state = 'due';
  create index if not exists deliveries_given_up on deliveries (state) where state = 'given_up';
`;

/** An event on its way to one subscription. */
export interface PendingDelivery {
  readonly event: SandboxEvent;
  readonly subscriptionId: string;
  /** Made so far. */
  readonly attempts: number;
  /** When the next one is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

/** An event that is to happen. */
export interface ComingEvent {
  readonly event: SandboxEvent;
  /** In milliseconds since 1970. */
  readonly happensAt: number;
}

/** A delivery that the platform has stopped trying to make. */
export interface GivenUpDelivery {
  readonly traceId: string;
  readonly callId: string;
  readonly eventName: string;
  readonly subscriptionId: string;
  /** Made before it was given up. */
  readonly attempts: number;
}

/** What is to be delivered and how far it has come, on disk: a sandbox that is started again goes on where it stopped. */
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

  /** An event is to happen. */
  expect(coming: ComingEvent): void {
    this.#writes.add(() => this.#insertEvent.run(eventRowOf(coming)));
  }

  /** It has happened, and goes to these subscriptions. */
  happened(traceId: string, subscriptionIds: readonly string[], now: number): void {
    this.#writes.add(() => {
      this.#markHappened.run(traceId);
      for (const id of subscriptionIds) this.#insertDelivery.run(traceId, id, now);
    });
  }

  /** An attempt has been made. What is `due` has another to come. */
  update(delivery: PendingDelivery, state: DeliveryState): void {
    this.#writes.add(() => this.#updateDelivery.run(deliveryRowOf(delivery, state)));
  }

  /** What is to happen still, in order. */
  comingEvents(): readonly ComingEvent[] {
    this.#writes.flush();
    return this.#connection
      .prepare<[], EventRow>('select * from events where has_happened = 0 order by happens_at')
      .all()
      .map((row) => ({ event: eventOf(row), happensAt: row.happens_at }));
  }

  /** What is neither delivered nor given up, in the order in which it is due. */
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
   * What was given up, in the order in which it happened.
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

type DeliveryState = 'due' | 'delivered' | 'given_up';

interface EventRow {
  readonly trace_id: string;
  readonly event_name: string;
  readonly organization_id: string;
  readonly agent_id: string;
  readonly workspace_id: string | null;
  readonly call_id: string;
  readonly body: Uint8Array;
  readonly happens_at: number;
}

interface DeliveryRow {
  readonly trace_id: string;
  readonly subscription_id: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly due_at: number;
}

function eventRowOf({ event, happensAt }: ComingEvent): EventRow {
  return {
    trace_id: event.traceId,
    event_name: event.eventName,
    organization_id: event.organizationId,
    agent_id: event.agentId,
    workspace_id: event.workspaceId ?? null,
    call_id: event.callId,
    body: event.body,
    happens_at: happensAt,
  };
}

function eventOf(row: EventRow): SandboxEvent {
  return {
    traceId: row.trace_id,
    eventName: row.event_name,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    workspaceId: row.workspace_id ?? undefined,
    callId: row.call_id,
    body: row.body,
  };
}

function deliveryRowOf(
  { event, subscriptionId, attempts, dueAt }: PendingDelivery,
  state: DeliveryState,
): DeliveryRow {
  return {
    trace_id: event.traceId,
    subscription_id: subscriptionId,
    state,
    attempts,
    due_at: dueAt,
  };
}
