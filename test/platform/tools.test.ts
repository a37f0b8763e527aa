import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { ConfigError } from '../../src/index.ts';
import { type Tool, defineTool } from '../../src/platform/index.ts';
import { untyped } from '../signature/helpers.ts';

const orderNumber = z.string().describe('The number on the invoice');

/** A tool with these parameters. */
function withParameters(parameters: z.ZodObject): Tool {
  return defineTool({ name: 'echo', description: 'Says what it was told.', parameters, run: (args) => args });
}

describe('a definition', () => {
  test('gives the registration in the form of the document', () => {
    const tool = defineTool({
      name: 'book_table',
      description: 'Books a table.',
      parameters: z.object({
        guests: z.int().min(1).max(20).describe('How many guests'),
        date: z.iso.date().describe('The day'),
        area: z.enum(['inside', 'garden']).optional().describe('Where to sit'),
        wishes: z.array(z.string()).default([]).describe('What else to look to'),
        contact: z.object({ phone: z.string().describe('With country code') }).describe('Whom to call back'),
        outdoors_only: z.boolean().optional().describe('Whether rain cancels it'),
        deposit: z.number().optional().describe('In the currency of the account'),
      }),
      run: () => 'booked',
      messages: { start: 'One moment.', delayed: 'Still at it.', complete: 'Done.', failed: 'Sorry.' },
    });
    const registration = tool.registration({
      endpoint: 'https://calls.example.com/tools/book_table',
      headers: { 'X-Tool-Key': 'key-1' },
      fixedParams: { branch: { description: 'Which restaurant', value: 'north' } },
    });
    expect(registration).toEqual({
      openai_tool: {
        name: 'book_table',
        description: 'Books a table.',
        parameters: {
          type: 'object',
          properties: {
            guests: { type: 'integer', description: 'How many guests', minimum: 1, maximum: 20 },
            date: { type: 'string', description: 'The day', format: 'date' },
            area: { type: 'string', description: 'Where to sit', enum: ['inside', 'garden'] },
            wishes: {
              type: 'array',
              description: 'What else to look to',
              items: { type: 'string' },
              default: [],
            },
            contact: {
              type: 'object',
              description: 'Whom to call back',
              properties: { phone: { type: 'string', description: 'With country code' } },
              required: ['phone'],
              additionalProperties: false,
            },
            outdoors_only: { type: 'boolean', description: 'Whether rain cancels it' },
            deposit: { type: 'number', description: 'In the currency of the account' },
          },
          required: ['guests', 'date', 'contact'],
          additionalProperties: false,
        },
      },
      additional_tool_info: {
        tool_type: 'custom',
        api: {
          endpoint: 'https://calls.example.com/tools/book_table',
          method: 'POST',
          headers: { 'X-Tool-Key': 'key-1' },
          parameters: {
            fixed_params: { branch: { description: 'Which restaurant', value: 'north' } },
            runtime_params: {},
          },
        },
      },
      tool_id: 'book_table',
      tool_start_message: 'One moment.',
      tool_delayed_message: 'Still at it.',
      tool_complete_message: 'Done.',
      tool_failed_message: 'Sorry.',
    });
  });

  test('leaves out the messages that it has not, and takes another id, method and form of arguments', () => {
    const options = {
      endpoint: 'http://127.0.0.1:8080/tools',
      method: 'GET',
      toolId: 'tool-7',
      runtimeParams: { any: 'form' },
    } as const;
    const registration = withParameters(z.looseObject({})).registration(options);
    expect(Object.keys(registration)).toEqual(['openai_tool', 'additional_tool_info', 'tool_id']);
    expect(registration.tool_id).toBe('tool-7');
    expect(registration.openai_tool.parameters).toEqual({
      type: 'object',
      properties: {},
      required: [],
      additionalProperties: true,
    });
    expect(registration.additional_tool_info.api).toMatchObject({
      method: 'GET',
      parameters: { runtime_params: { any: 'form' } },
    });
  });

  test('types the arguments of run by the schema', () => {
    defineTool({
      name: 'typed',
      description: 'Typed.',
      parameters: z.object({ order_number: orderNumber, count: z.int().default(1).describe('How many') }),
      run(args) {
        expectTypeOf(args).toEqualTypeOf<{ order_number: string; count: number }>();
      },
    });
  });

  test.each<[string, z.ZodObject, RegExp]>([
    [
      'no description',
      z.object({ a: z.string() }),
      /^The option parameters\.a in defineTool .* without a desc/,
    ],
    [
      'no description inside',
      z.object({ a: z.object({ b: z.string() }).describe('A') }),
      /^The option parameters\.a\.b in defineTool /,
    ],
    ['a choice of types', z.object({ a: z.union([z.string(), z.number()]).describe('A') }), /of one type/],
    ['null', z.object({ a: z.string().nullable().describe('A') }), /parameters\.a .*use \.optional\(\)/],
    ['anything', z.object({ a: z.unknown().describe('A') }), /parameters\.a .*of one type/],
    [
      'a date',
      z.object({ when: z.date().describe('A') }),
      /parameters\.when .*of a type that JSON does not have/,
    ],
    ['a bigint in a list', z.object({ a: z.array(z.bigint()).describe('A') }), /parameters\.a\.items .*JSON/],
    [
      'a tuple',
      z.object({ a: z.tuple([z.string(), z.number()]).describe('A') }),
      /a list whose items have different types/,
    ],
    [
      'a schema with an id',
      z.object({ a: z.string().describe('A').meta({ id: 'an-id' }) }),
      /parameters\.a .*Remove the id/,
    ],
    ['a schema that contains itself', selfContaining(), /parameters/],
  ])('is refused when a parameter has %s', (_what, parameters, sentence) => {
    expect(() => withParameters(parameters)).toThrow(ConfigError);
    expect(() => withParameters(parameters)).toThrow(sentence);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'a name with blanks',
      { name: 'find order' },
      /^The option name in defineTool should be up to 64 letters/,
    ],
    ['no description', { description: ' ' }, /^The option description in defineTool should be text/],
    ['a schema that is no object', { parameters: z.string() }, /parameters in defineTool .*z\.object/],
    ['no function', { run: 'later' }, /run in defineTool should be a function/],
    ['an unknown message', { messages: { begin: 'Hello' } }, /no option begin in defineTool\.messages/],
    [
      'a misspelled option',
      { parametres: 1 },
      /no option parametres in defineTool\. Did you mean parameters\?/,
    ],
  ])('is refused with %s', (_what, change, sentence) => {
    const definition = { name: 'echo', description: 'Echo.', parameters: z.object({}), run: () => 1 };
    expect(() => defineTool(untyped({ ...definition, ...change }))).toThrow(sentence);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'plain HTTP',
      { endpoint: 'http://calls.example.com/tools' },
      /endpoint in registration should be an https/,
    ],
    ['no address', { endpoint: 'tools' }, /endpoint in registration should be an https address/],
    ['another method', { method: 'TRACE' }, /method in registration should be 'GET', 'POST'/],
    ['an empty header', { headers: { 'x-key': '' } }, /headers\.x-key in registration .* but is empty/],
    ['a line break in a header', { headers: { 'x-key': 'a\r\nb: c' } }, /but is of type string/],
    ['a number in a header', { headers: { 'x-key': 83_726_150 } }, /headers\.x-key .* but is of type number/],
    [
      'a number as the value of a fixed parameter',
      { fixedParams: { pin: { description: 'd', value: 83_726_150 } } },
      /fixedParams\.pin\.value .* but is of type number/,
    ],
    [
      'a fixed parameter that is a parameter',
      { fixedParams: { order_number: { description: 'd', value: 'v' } } },
      /not parameters of the tool \(order_number\)/,
    ],
    [
      'a fixed parameter without a value',
      { fixedParams: { a: { description: 'd' } } },
      /fixedParams\.a\.value/,
    ],
  ])('registers not with %s', (_what, change, sentence) => {
    const tool = withParameters(z.object({ order_number: orderNumber }));
    const options = { endpoint: 'https://calls.example.com/tools', ...change };
    expect(() => tool.registration(untyped(options))).toThrow(ConfigError);
    expect(() => tool.registration(untyped(options))).toThrow(sentence);
  });
});

/** A schema that contains itself, which a JSON Schema can't describe without references. */
function selfContaining(): z.ZodObject {
  const branch: z.ZodObject = z.object({
    get inner() {
      return z.array(branch).describe('Branches');
    },
  });
  return z.object({ tree: branch.describe('Tree') });
}
