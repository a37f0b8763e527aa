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

/** By its id (platform document, CustomTool); a tool without an id by the name of its function. */
export function isSameTool(tool: CustomTool, { tool_id: id, openai_tool: { name } }: NewCustomTool): boolean {
  return id === undefined ? tool.openai_tool?.['name'] === name : tool.tool_id === id;
}

/**
 * The whole tool with what is wanted of it; undefined if it is as wanted.
 *
 * @throws RingbackError `update_unsafe` when it would have masked credentials
 */
export function changedTool(current: CustomTool, tool: NewCustomTool): Fields | undefined {
  // As it is sent: a field that is undefined counts as not given.
  const wanted = JSON.parse(JSON.stringify(tool)) as NewCustomTool;
  const present = withoutReadOnly(current);
  const whole = toolWith(present, wanted);
  if (isDeepStrictEqual(whole, present)) return undefined;
  refuseMasked(whole, wanted);
  return whole;
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
