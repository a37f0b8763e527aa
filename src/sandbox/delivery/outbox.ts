import type { Statement } from 'better-sqlite3';
import { ringbackError } from '../../errors/errors.ts';
import type { BatchedWrites, Connection, Database } from '../database.ts';
import type { SandboxEvent } from '../model.ts';

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

const eventColumns = `trace_id as traceId, event_name as eventName, organization_id as organizationId,
  agent_id as agentId, workspace_id as workspaceId, call_id as callId, body`;

/** SQLite has null where a field is undefined. */
type EventRow = Omit<SandboxEvent, 'workspaceId'> & { readonly workspaceId: string | null };

type DeliveryRow = Omit<PendingDelivery, 'event'>;

export interface PendingDelivery {
  readonly event: SandboxEvent;
  readonly subscriptionId: string;
  /** How many attempts were made so far. */
  readonly attempts: number;
  /** When the next attempt is due, in milliseconds since 1970. */
  readonly dueAt: number;
}

export interface ComingEvent {
  readonly event: SandboxEvent;
  /** In milliseconds since 1970. */
  readonly happensAt: number;
}

/** `due` means that another attempt follows. */
type DeliveryState = 'due' | 'delivered' | 'given_up';

/** A delivery that will not be retried. */
export interface GivenUpDelivery {
  readonly traceId: string;
  readonly callId: string;
  readonly eventName: string;
  readonly subscriptionId: string;
  /** How many attempts were made before the delivery was given up. */
  readonly attempts: number;
}

/** The events and the progress of their deliveries, on disk, so that a restarted sandbox continues where it stopped. */
export class Outbox {
  readonly #connection: Connection;
  readonly #writes: BatchedWrites;
  readonly #insertEvent: Statement<[SandboxEvent & { readonly happensAt: number }]>;
  readonly #markHappened: Statement<[string]>;
  readonly #copyEvent: Statement<
    [{ readonly original: string; readonly traceId: string; readonly body: Uint8Array }]
  >;
  readonly #insertDelivery: Statement<[traceId: string, subscriptionId: string, dueAt: number]>;
  readonly #updateDelivery: Statement<
    [DeliveryRow & { readonly traceId: string; readonly state: DeliveryState }]
  >;

  /** @internal */
  constructor(database: Database, writes: BatchedWrites) {
    database.create(tables);
    const { connection } = database;
    this.#connection = connection;
    this.#writes = writes;
    this.#insertEvent = connection.prepare(`
      insert into events values (@traceId, @eventName, @organizationId, @agentId, @workspaceId, @callId, @body,
        @happensAt, 0)`);
    this.#markHappened = connection.prepare('update events set has_happened = 1 where trace_id = ?');
    this.#copyEvent = connection.prepare(`
      insert into events select @traceId, event_name, organization_id, agent_id, workspace_id, call_id, @body,
        happens_at, 1 from events where trace_id = @original`);
    this.#insertDelivery = connection.prepare("insert into deliveries values (?, ?, 'due', 0, ?)");
    this.#updateDelivery = connection.prepare(`
      update deliveries set state = @state, attempts = @attempts, due_at = @dueAt
      where trace_id = @traceId and subscription_id = @subscriptionId`);
  }

  add({ event, happensAt }: ComingEvent): void {
    this.#writes.add(() => this.#insertEvent.run({ ...event, happensAt }));
  }

  /** Stores that an event has happened, and its deliveries, whose events may have their own trace ids. */
  happened({ traceId: original }: SandboxEvent, deliveries: readonly PendingDelivery[]): void {
    this.#writes.add(() => {
      this.#markHappened.run(original);
      for (const { event, subscriptionId, dueAt } of deliveries) {
        const { traceId, body } = event;
        if (traceId !== original) this.#copyEvent.run({ original, traceId, body });
        this.#insertDelivery.run(traceId, subscriptionId, dueAt);
      }
    });
  }

  update({ event: { traceId }, ...delivery }: PendingDelivery, state: DeliveryState): void {
    this.#writes.add(() => this.#updateDelivery.run({ ...delivery, traceId, state }));
  }

  comingEvents(): readonly ComingEvent[] {
    this.#writes.flush();
    return this.#connection
      .prepare<[], EventRow & { readonly happensAt: number }>(
        `select ${eventColumns}, happens_at as happensAt from events where has_happened = 0 order by happens_at`,
      )
      .all()
      .map(({ happensAt, ...event }) => ({ event: eventOf(event), happensAt }));
  }

  pendingDeliveries(): readonly PendingDelivery[] {
    this.#writes.flush();
    return this.#connection
      .prepare<[], EventRow & DeliveryRow>(
        `select ${eventColumns}, subscription_id as subscriptionId, attempts, due_at as dueAt
         from deliveries join events using (trace_id) where state = 'due' order by due_at`,
      )
      .all()
      .map(({ subscriptionId, attempts, dueAt, ...event }) => ({
        event: eventOf(event),
        subscriptionId,
        attempts,
        dueAt,
      }));
  }

  /** In the order in which their events happened. @throws RingbackError `sandbox_not_running` after `stop` */
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

function eventOf(row: EventRow): SandboxEvent {
  return { ...row, workspaceId: row.workspaceId ?? undefined };
}
