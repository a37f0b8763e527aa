import type { Statement } from 'better-sqlite3';
import type { Database } from '../database.ts';
import type { Subscription } from '../model.ts';
import { type SubscriptionRow, rowOf, subscriptionOf } from './subscription-row.ts';

const tables = `
  create table if not exists subscriptions (
    position integer primary key autoincrement,
    id text not null unique,
    organization_id text not null references organizations (id),
    created_user_id text not null references users (id),
    name text not null,
    description text,
    url text not null,
    active integer not null,
    events text not null,
    headers text,
    agent_ids text,
    workspace_ids text,
    request_timeout_ms integer not null,
    retry_policy text not null,
    secret text,
    previous_secret text,
    previous_secret_expires_at integer,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, name)
  ) strict;
`;

const columns = [
  'id',
  'organization_id',
  'created_user_id',
  'name',
  'description',
  'url',
  'active',
  'events',
  'headers',
  'agent_ids',
  'workspace_ids',
  'request_timeout_ms',
  'retry_policy',
  'secret',
  'previous_secret',
  'previous_secret_expires_at',
  'created_at',
  'updated_at',
] as const satisfies (keyof SubscriptionRow)[];

/** Some of an organization's subscriptions, in the order in which they were created. */
export interface SubscriptionPage {
  readonly subscriptions: readonly Subscription[];
  /** The position that the next page begins after; undefined on the last page. */
  readonly next: number | undefined;
  /** How many the organization has. */
  readonly total: number;
}

/** The subscriptions of all organizations. */
export class Subscriptions {
  readonly #insert: Statement<[SubscriptionRow]>;
  readonly #update: Statement<[SubscriptionRow]>;
  readonly #find: Statement<[string], SubscriptionRow>;
  readonly #page: Statement<[string, number, number], SubscriptionRow & { readonly position: number }>;
  readonly #count: Statement<[string], number>;
  readonly #active: Statement<[string], SubscriptionRow>;
  readonly #remove: Statement<[string]>;

  constructor(database: Database) {
    database.create(tables);
    const { connection } = database;
    const values = columns.map((column) => `@${column}`);
    const changes = columns.map((column) => `${column} = @${column}`);
    // The unique index decides who gets a name: of two subscriptions with the same name, only the first is added.
    this.#insert = connection.prepare(
      `insert into subscriptions (${columns.join(', ')}) values (${values.join(', ')})
       on conflict (organization_id, name) do nothing`,
    );
    this.#update = connection.prepare(
      `update or ignore subscriptions set ${changes.join(', ')} where id = @id`,
    );
    this.#find = connection.prepare('select * from subscriptions where id = ?');
    this.#page = connection.prepare(
      'select * from subscriptions where organization_id = ? and position > ? order by position limit ?',
    );
    this.#count = connection
      .prepare<[string], number>('select count(*) from subscriptions where organization_id = ?')
      .pluck();
    // Cast, because SQLite would plan this statement, which orders, again for each new value of a bare parameter.
    this.#active = connection.prepare(
      'select * from subscriptions where organization_id = cast(? as text) and active = 1 order by position',
    );
    this.#remove = connection.prepare('delete from subscriptions where id = ?');
  }

  /** Adds a subscription; false when its organization has another of that name. */
  add(subscription: Subscription): boolean {
    return this.#insert.run(rowOf(subscription)).changes === 1;
  }

  /** Stores a changed subscription; false when its organization has another of that name. */
  update(subscription: Subscription): boolean {
    return this.#update.run(rowOf(subscription)).changes === 1;
  }

  /** The subscription with that id, of any organization. */
  find(id: string): Subscription | undefined {
    const row = this.#find.get(id);
    return row && subscriptionOf(row);
  }

  /** The organization's active subscriptions: only these get deliveries. */
  activeOf(organizationId: string): readonly Subscription[] {
    return this.#active.all(organizationId).map(subscriptionOf);
  }

  /** A page of the organization's subscriptions: at most `size`, after the position `after`. */
  page(organizationId: string, size: number, after: number): SubscriptionPage {
    // One more than asked for tells whether there is another page.
    const rows = this.#page.all(organizationId, after, size + 1);
    const shown = rows.slice(0, size);
    return {
      subscriptions: shown.map(subscriptionOf),
      next: rows.length > size ? shown.at(-1)?.position : undefined,
      total: this.#count.get(organizationId) ?? 0,
    };
  }

  remove(id: string): void {
    this.#remove.run(id);
  }
}
