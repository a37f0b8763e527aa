import { isDeepStrictEqual } from 'node:util';
import { ringbackError } from '../../errors/errors.ts';
import { ensureOne } from '../requests/ensure-one.ts';
import { masked } from '../requests/shapes.ts';
import { fieldsOf } from '../../kit/values.ts';
import { type CustomTool, type NewCustomTool, credentialsIn } from './custom-tool.ts';

/** The result of `customTools.ensure`. */
export interface EnsuredCustomTool {
  /** As the platform stored it. */
  readonly tool: CustomTool;
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

/** The operations that `ensure` needs. */
interface EnsureToolParts {
  readonly list: () => AsyncIterable<CustomTool>;
  readonly read: (toolId: string) => Promise<CustomTool>;
  readonly create: () => Promise<CustomTool>;
  readonly update: (toolId: string, whole: unknown) => Promise<CustomTool>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Creates the tool, or changes what differs about it, or does nothing. */
export function ensureTool(tool: NewCustomTool, parts: EnsureToolParts): Promise<EnsuredCustomTool> {
  // As it is sent: a field that is undefined counts as not given.
  const wanted = JSON.parse(JSON.stringify(tool)) as NewCustomTool;
  return ensureOne<CustomTool, EnsuredCustomTool>({
    find: () => findTool(wanted, parts.list()),
    create: async () => ({ tool: await parts.create(), outcome: 'created' }),
    async bringUp({ tool_id: id }) {
      const current = await parts.read(id);
      const present = withoutReadOnly(current);
      const whole = toolWith(present, wanted);
      if (isDeepStrictEqual(whole, present)) return { tool: current, outcome: 'unchanged' };
      refuseMasked(whole, wanted);
      return { tool: await parts.update(id, whole), outcome: 'updated' };
    },
  });
}

/** By its id (platform document, CustomTool); a tool without an id by the name of its function. */
async function findTool(
  { tool_id: id, openai_tool: { name } }: NewCustomTool,
  tools: AsyncIterable<CustomTool>,
): Promise<CustomTool | undefined> {
  for await (const tool of tools) {
    if (id === undefined ? tool.openai_tool?.['name'] === name : tool.tool_id === id) return tool;
  }
  return undefined;
}

/** Without what is only in answers (platform document, CustomTool). Any other field might be one that a PUT would clear. */
function withoutReadOnly({ created_at: _created, updated_at: _updated, ...present }: CustomTool): Fields {
  return present;
}

/**
 * The present tool with the wanted fields. Others stay, since a PUT would clear what it doesn't contain. What has names
 * of its own (parameters, headers) is replaced, so that one that is no longer wanted goes.
 */
function toolWith(present: Fields, wanted: NewCustomTool): Fields {
  const { openai_tool: tool, additional_tool_info: info } = present;
  const { api } = fieldsOf(info);
  const { parameters } = fieldsOf(api);
  const wantedInfo = wanted.additional_tool_info;
  const wantedParameters = wantedInfo.api.parameters;
  return {
    ...present,
    ...wanted,
    openai_tool: { ...fieldsOf(tool), ...wanted.openai_tool },
    additional_tool_info: {
      ...fieldsOf(info),
      ...wantedInfo,
      api: {
        ...fieldsOf(api),
        ...wantedInfo.api,
        ...(wantedParameters && { parameters: { ...fieldsOf(parameters), ...wantedParameters } }),
      },
    },
  };
}

/** Sent back, a masked value would replace the credential. */
function refuseMasked(whole: Fields, wanted: NewCustomTool): void {
  const given = new Set(credentialsIn(wanted));
  if (!credentialsIn(whole).some((value) => masked.test(value) && !given.has(value))) return;
  throw ringbackError('update_unsafe', {
    cause: 'the platform shows the values of headers or fixed parameters masked, so they would be lost',
    fix: 'Give them in the tool.',
  });
}
