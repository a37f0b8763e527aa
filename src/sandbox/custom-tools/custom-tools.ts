import { z } from 'zod';
import { type Connection, type Database, type Page, pageOf } from '../database.ts';
import { isoTime } from '../model.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The longest id, in characters, because ids are parts of addresses. */
const maxIdLength = 256;

const text = z.string('Should be text');
const filledText = text.regex(/\S/, 'Should not be blank');
const map = 'Should be an object';

const parametersSchema = z
  .looseObject(
    {
      type: z.literal('object', "Should be 'object'"),
      properties: z.record(z.string(), z.looseObject({ type: text, description: text }, map), map),
      required: z.array(text, 'Should be a list of parameter names').optional(),
      additionalProperties: z.boolean('Should be true or false').optional(),
    },
    map,
  )
  .refine(
    ({ properties, required = [] }) => required.every((parameter) => Object.hasOwn(properties, parameter)),
    { path: ['required'], error: 'Should name only parameters that are in properties' },
  );

const apiSchema = z.looseObject(
  {
    endpoint: z.url({ protocol: /^https?$/, error: 'Should be an http or https address' }),
    method: z.enum(methods, `Should be one of ${methods.join(', ')}`),
    headers: z.record(z.string(), text, map).optional(),
    parameters: z
      .looseObject(
        {
          fixed_params: z
            .record(z.string(), z.looseObject({ description: text, value: text }, map), map)
            .optional(),
          // The document doesn't show what an entry looks like.
          runtime_params: z.record(z.string(), z.unknown(), map).optional(),
        },
        map,
      )
      .optional(),
  },
  map,
);

/**
 * A custom tool as a client sends it (platform document, CustomTool). The document doesn't show which fields are
 * required: here it is those without which a tool can't be called. Unknown fields are stored unchanged.
 */
export const customToolSchema = z.looseObject(
  {
    openai_tool: z.looseObject({ name: filledText, description: text, parameters: parametersSchema }, map),
    additional_tool_info: z.looseObject(
      { tool_type: z.literal('custom', "Should be 'custom'"), api: apiSchema },
      map,
    ),
    tool_id: filledText.max(maxIdLength, `Should have at most ${maxIdLength} characters`).optional(),
    tool_start_message: text.optional(),
    tool_delayed_message: text.optional(),
    tool_complete_message: text.optional(),
    tool_failed_message: text.optional(),
  },
  map,
);

type CustomToolFields = z.output<typeof customToolSchema>;

export interface CustomTool extends CustomToolFields {
  readonly tool_id: string;
  /** ISO 8601 with milliseconds and `Z`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** The owner of tools: an agent, and the organization that it belongs to. */
export interface ToolOwner {
  readonly organizationId: string;
  readonly agentId: string;
}

type Values = Readonly<Record<string, string | number>>;

interface ToolRow {
  readonly position: number;
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

const columns =
  'sequence as position, tool_id as toolId, body, created_at as createdAt, updated_at as updatedAt';
const ofOwner = 'organization_id = @organizationId and agent_id = @agentId';
const one = `${ofOwner} and tool_id = @toolId`;

export class CustomTools {
  readonly #connection: Connection;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
  }

  /** Adds a tool; undefined if the agent already has one with that id. `now` is in milliseconds since 1970. */
  create(owner: ToolOwner, toolId: string, fields: CustomToolFields, now: number): CustomTool | undefined {
    const insert = `insert into custom_tools (organization_id, agent_id, tool_id, body, created_at, updated_at)
      values (@organizationId, @agentId, @toolId, @body, @now, @now) on conflict do nothing`;
    return this.#written(insert, { ...owner, toolId, body: JSON.stringify(fields), now });
  }

  find(owner: ToolOwner, toolId: string): CustomTool | undefined {
    const [row] = this.#rows(`select ${columns} from custom_tools where ${one}`, { ...owner, toolId });
    return row && customToolOf(row);
  }

  /** Lists at most `limit` tools after the sequence number `after`; 0 is before the first. */
  list(owner: ToolOwner, after: number, limit: number): Page<CustomTool> {
    const where = `${ofOwner} and sequence > @after order by sequence limit @limit`;
    const select = `select ${columns} from custom_tools where ${where}`;
    return pageOf(this.#rows(select, { ...owner, after, limit: limit + 1 }), limit, customToolOf);
  }

  /** Replaces all fields that a client sends; undefined if there is no such tool. */
  replace(owner: ToolOwner, toolId: string, fields: CustomToolFields, now: number): CustomTool | undefined {
    const update = `update custom_tools set body = @body, updated_at = @now where ${one}`;
    return this.#written(update, { ...owner, toolId, body: JSON.stringify(fields), now });
  }

  delete(owner: ToolOwner, toolId: string): boolean {
    return (
      this.#connection.prepare(`delete from custom_tools where ${one}`).run({ ...owner, toolId }).changes > 0
    );
  }

  #written(write: string, change: Values): CustomTool | undefined {
    const [row] = this.#rows(`${write} returning ${columns}`, change);
    return row && customToolOf(row);
  }

  /** `all` throws when a commit fails, as on a full disk. `get` stops at the first row and would hide the failure. */
  #rows(sql: string, values: Values): readonly ToolRow[] {
    return this.#connection.prepare<[Values], ToolRow>(sql).all(values);
  }
}

/** The platform's fields come last, to replace a client's, such as `created_at`. */
function customToolOf({ toolId, body, createdAt, updatedAt }: ToolRow): CustomTool {
  return {
    ...(JSON.parse(body) as CustomToolFields),
    tool_id: toolId,
    created_at: isoTime(createdAt),
    updated_at: isoTime(updatedAt),
  };
}
