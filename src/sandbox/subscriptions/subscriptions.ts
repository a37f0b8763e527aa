import type { Statement } from 'better-sqlite3';
import { type Connection, type Database, type Page, pageOf } from '../database.ts';
import type { SandboxEvent, Subscription } from '../model.ts';

const tables = `
  create table if not exists subscriptions (
    position integer primary key autoincrement,
    id text not null unique,
    organization_id text not null references organizations (id),
    name text not null,
    active integer not null,
    subscription text not null,
    unique (organization_id, name)
  ) strict;
`;

/** A stored subscription: JSON, beside the fields for searches. */
interface SubscriptionRow {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly active: number;
  readonly subscription: string;
}

export class Subscriptions {
  readonly #connection: Connection;
  readonly #find: Statement<[string], string>;
  readonly #active: Statement<[string], string>;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
    this.#find = this.#connection
      .prepare<[string], string>('select subscription from subscriptions where id = ?')
      .pluck();
    // Cast, because SQLite would plan this ordered statement again for each new value of a bare parameter.
    this.#active = this.#connection
      .prepare<[string], string>(
        `select subscription from subscriptions
         where organization_id = cast(? as text) and active = 1 order by position`,
      )
      .pluck();
  }

  /** Adds a subscription; false if its organization has another of that name. */
  add(subscription: Subscription): boolean {
    // The unique index decides: of two subscriptions with the same name, only the first is added.
    const insert = this.#connection.prepare(
      `insert into subscriptions (id, organization_id, name, active, subscription)
       values (@id, @organizationId, @name, @active, @subscription)
       on conflict (organization_id, name) do nothing`,
    );
    return insert.run(rowOf(subscription)).changes === 1;
  }

  /** Stores a changed subscription; false if its organization has another of that name. */
  update(subscription: Subscription): boolean {
    const update = this.#connection.prepare(
      `update or ignore subscriptions set name = @name, active = @active, subscription = @subscription
       where id = @id`,
    );
    return update.run(rowOf(subscription)).changes === 1;
  }

  find(id: string): Subscription | undefined {
    const json = this.#find.get(id);
    return json === undefined ? undefined : subscriptionOf(json);
  }

  /** The subscriptions that get an event: active ones of its organization that ask for it. */
  wanting(event: SandboxEvent): readonly Subscription[] {
    return this.#active
      .all(event.organizationId)
      .map(subscriptionOf)
      .filter((subscription) => wantsName(subscription, event.eventName) && isInScope(subscription, event));
  }

  /** A page of the organization's subscriptions: at most `size`, after the position `after`. */
  page(organizationId: string, size: number, after: number): Page<Subscription> {
    const rows = this.#connection
      .prepare<[string, number, number], { readonly position: number; readonly subscription: string }>(
        `select position, subscription from subscriptions
         where organization_id = ? and position > ? order by position limit ?`,
      )
      .all(organizationId, after, size + 1);
    return pageOf(rows, size, ({ subscription }) => subscriptionOf(subscription));
  }

  count(organizationId: string): number {
    const select = 'select count(*) from subscriptions where organization_id = ?';
    return this.#connection.prepare<[string], number>(select).pluck().get(organizationId) ?? 0;
  }

  remove(id: string): void {
    this.#connection.prepare('delete from subscriptions where id = ?').run(id);
  }
}

function rowOf(subscription: Subscription): SubscriptionRow {
  const { id, organizationId, name, active } = subscription;
  return { id, organizationId, name, active: Number(active), subscription: JSON.stringify(subscription) };
}

/** JSON omits undefined fields, which are undefined again afterwards. */
function subscriptionOf(json: string): Subscription {
  return JSON.parse(json) as Subscription;
}

/**
 * Names are case-sensitive; no names, or `*`, mean every event (platform document, WebhookSubscription). The document has
 * no `Service.*`: a subscription that gets events by it here might get none from the platform.
 */
function wantsName({ events }: Subscription, eventName: string): boolean {
  return events.length === 0 || events.includes('*') || events.includes(eventName);
}

/** Whether the scope includes the agent or the workspace (platform document, Delivery rules). */
function isInScope({ scope, agentIds, workspaceIds }: Subscription, event: SandboxEvent): boolean {
  if (scope === 'AGENT') return agentIds?.includes(event.agentId) ?? false;
  if (scope === 'WORKSPACE') {
    return event.workspaceId !== undefined && (workspaceIds?.includes(event.workspaceId) ?? false);
  }
  return true;
}
