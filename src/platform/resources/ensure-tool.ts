import { isDeepStrictEqual } from 'node:util';
import { ringbackError } from '../../errors/errors.ts';
import { masked } from '../requests/shapes.ts';
import { fieldsOf } from '../../kit/values.ts';
import { type CustomTool, type NewCustomTool, credentialsIn } from './custom-tool.ts';

/** The result of `customTools.ensure`. */
export interface EnsuredCustomTool {
  /** As the platform stored it. */
  readonly tool: CustomTool;
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

type Fields = Readonly<Record<string, unknown>>;

/** Compares by id (platform document, CustomTool), or without one by the name of the function. */
export function isSameTool(tool: CustomTool, { tool_id: id, openai_tool: { name } }: NewCustomTool): boolean {
  return id === undefined ? tool.openai_tool?.['name'] === name : tool.tool_id === id;
}

/**
 * The whole tool with the wanted fields; undefined if nothing differs.
 *
 * @throws RingbackError `update_unsafe` if it would contain masked credentials
 */
export function changedTool(current: CustomTool, tool: NewCustomTool): Fields | undefined {
  // As JSON: a field that is undefined counts as not given.
  const wanted = JSON.parse(JSON.stringify(tool)) as NewCustomTool;
  const present = withoutReadOnly(current);
  const whole = toolWith(present, wanted);
  if (isDeepStrictEqual(whole, present)) return undefined;
  refuseMasked(whole, wanted);
  return whole;
}

/** Removes the read-only fields (platform document, CustomTool). A PUT without any other field might clear it. */
function withoutReadOnly({ created_at: _created, updated_at: _updated, ...present }: CustomTool): Fields {
  return present;
}

/**
 * The current tool with the wanted fields. Others stay, because a PUT would clear fields that it doesn't contain. Maps
 * of names (parameters, headers) are replaced, so that names that are no longer wanted go.
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

/** Refuses to send a masked value back, which would replace the credential. */
function refuseMasked(whole: Fields, wanted: NewCustomTool): void {
  const given = new Set(credentialsIn(wanted));
  if (!credentialsIn(whole).some((value) => masked.test(value) && !given.has(value))) return;
  throw ringbackError('update_unsafe', {
    cause: 'the platform shows the values of headers or fixed parameters masked, so they would be lost',
    fix: 'Set them in the tool.',
  });
}
