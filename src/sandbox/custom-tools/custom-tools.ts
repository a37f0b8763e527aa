import type { Statement } from 'better-sqlite3';
import type { Database } from '../database.ts';
import type { CustomTool, CustomToolFields } from './custom-tool.ts';

/** The owner of tools: an agent, and the organization that it belongs to. */
export interface ToolOwner {
  readonly organizationId: string;
  readonly agentId: string;
}

/** Some of an agent's tools, in the order in which they were created. */
export interface ToolPage {
  readonly tools: readonly CustomTool[];
  /** The sequence number that the next page begins after; undefined on the last page. */
  readonly next: number | undefined;
}

interface ToolKey extends ToolOwner {
  readonly toolId: string;
}

interface ToolChange {
  readonly body: string;
  readonly now: number;
}

interface ToolRow {
  readonly sequence: number;
  readonly toolId: string;
  readonly body: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const tables = `
  create table if not exists custom_tools (
    sequence integer primary key autoincrement,
    organization_id text not null,
    agent_id text not null,
    tool_id text not null,
    body text not null,
    created_at integer not null,
    updated_at integer not null,
    unique (organization_id, agent_id, tool_id)
  ) strict;
`;

const columns = 'sequence, tool_id as toolId, body, created_at as createdAt, updated_at as updatedAt';
const ofOwner = 'organization_id = @organizationId and agent_id = @agentId';
const one = `${ofOwner} and tool_id = @toolId`;

/** The custom tools of every agent. */
export class CustomTools {
  readonly #insert: Statement<[ToolKey & ToolChange], ToolRow>;
  readonly #find: Statement<[ToolKey], ToolRow>;
  readonly #list: Statement<[ToolOwner & { readonly after: number; readonly limit: number }], ToolRow>;
  readonly #update: Statement<[ToolKey & ToolChange], ToolRow>;
  readonly #delete: Statement<[ToolKey]>;

  constructor(database: Database) {
    database.create(tables);
    const { connection } = database;
    this.#insert = connection.prepare(`
      insert into custom_tools (organization_id, agent_id, tool_id, body, created_at, updated_at)
      values (@organizationId, @agentId, @toolId, @body, @now, @now)
      on conflict do nothing returning ${columns}`);
    this.#find = connection.prepare(`select ${columns} from custom_tools where ${one}`);
    this.#list = connection.prepare(`
      select ${columns} from custom_tools where ${ofOwner} and sequence > @after order by sequence limit @limit`);
    this.#update = connection.prepare(`
      update custom_tools set body = @body, updated_at = @now where ${one} returning ${columns}`);
    this.#delete = connection.prepare(`delete from custom_tools where ${one}`);
  }

  /** Adds a tool; undefined when the agent already has one with that id. `now` is in milliseconds since 1970. */
  create(owner: ToolOwner, toolId: string, fields: CustomToolFields, now: number): CustomTool | undefined {
    return toolOf(this.#insert.get({ ...owner, toolId, body: JSON.stringify(fields), now }));
  }

  find(owner: ToolOwner, toolId: string): CustomTool | undefined {
    return toolOf(this.#find.get({ ...owner, toolId }));
  }

  /** At most `limit` tools, after the one with the sequence number `after`; 0 is before the first. */
  list(owner: ToolOwner, after: number, limit: number): ToolPage {
    // One more than asked for says whether there is a next page.
    const rows = this.#list.all({ ...owner, after, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? page.at(-1)?.sequence : undefined;
    return { tools: page.map(customToolOf), next };
  }

  /** Replaces all fields that a client has sent. Undefined when there is no such tool. */
  replace(owner: ToolOwner, toolId: string, fields: CustomToolFields, now: number): CustomTool | undefined {
    return toolOf(this.#update.get({ ...owner, toolId, body: JSON.stringify(fields), now }));
  }

  /** Deletes a tool; false when there is no such tool. */
  delete(owner: ToolOwner, toolId: string): boolean {
    return this.#delete.run({ ...owner, toolId }).changes > 0;
  }
}

function toolOf(row: ToolRow | undefined): CustomTool | undefined {
  return row && customToolOf(row);
}

/** The platform's own fields come last, so that they replace a client's, such as `created_at`. */
function customToolOf({ toolId, body, createdAt, updatedAt }: ToolRow): CustomTool {
  return {
    ...(JSON.parse(body) as CustomToolFields),
    tool_id: toolId,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}
