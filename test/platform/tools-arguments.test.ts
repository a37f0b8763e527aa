import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Tool, ToolError, defineTool } from '../../src/platform/index.ts';

const orderNumber = z.string().describe('The number on the invoice');

/** A tool that returns the arguments that it was called with. */
function echo(parameters: z.ZodObject): Tool {
  const run = (args: unknown, { additional }: { additional: unknown }) => ({ args, additional });
  return defineTool({ name: 'echo', description: 'Says what it was told.', parameters, run });
}

/** What the tool's `run` gets for these arguments. */
async function argsFor(parameters: z.ZodObject, args: unknown): Promise<unknown> {
  return ((await echo(parameters).call(args)) as { args: unknown }).args;
}

describe('arguments', () => {
  const schema = z.object({
    order_number: orderNumber,
    count: z.int().optional().describe('How many'),
    price: z.number().optional().describe('How much'),
    express: z.boolean().optional().describe('Whether at once'),
    sizes: z.array(z.number()).optional().describe('Which sizes'),
    address: z
      .object({ zip: z.string().describe('Code') })
      .optional()
      .describe('Where to'),
    note: z.string().optional().describe('What else'),
  });

  test.each<[string, object, object]>([
    ['numbers written as text', { count: '3', price: ' 1.50 ' }, { count: 3, price: 1.5 }],
    ['switches written as text', { express: 'True' }, { express: true }],
    ['a switch written as a number', { express: '0' }, { express: false }],
    ['a text written as a number', { note: 4711 }, { note: '4711' }],
    ['one thing for a list', { sizes: '42' }, { sizes: [42] }],
    ['a list written as text', { sizes: '[1, "2"]' }, { sizes: [1, 2] }],
    ['an object written as text', { address: '{"zip":10115}' }, { address: { zip: '10115' } }],
    ['null for what may be missing', { count: null, note: null }, {}],
    ['empty text for a number that may be missing', { count: '' }, {}],
    ['empty text that is text', { note: '' }, { note: '' }],
    ['an argument that nobody knows', { unknown: 1 }, {}],
  ])('with %s are taken', async (_what, given, expected) => {
    expect(await argsFor(schema, { order_number: '7', ...given })).toEqual({
      order_number: '7',
      ...expected,
    });
  });

  test.each([
    ['any number with a decimal point', { price: '9007199254740993.0' }],
    ['a count', { count: '9007199254740993' }],
    ['any number', { price: ' -9007199254740993 ' }],
    ['one of a list', { sizes: '[1, 9007199254740993]' }],
  ])('with more digits than a number holds are refused, not rounded: %s', async (_what, given) => {
    const calling = argsFor(schema, { order_number: '7', ...given });
    await expect(calling).rejects.toThrow(/^This can't be done yet: (count|price|sizes)[^;]* is not right/);
    expect(await argsFor(schema, { order_number: '7', price: '9007199254740991' })).toMatchObject({
      price: Number.MAX_SAFE_INTEGER,
    });
  });

  test('with others are not refused by a strict schema, and kept by a loose one', async () => {
    const given = { order_number: 7, branch: 'north' };
    expect(await echo(z.strictObject({ order_number: orderNumber })).call(given)).toEqual({
      args: { order_number: '7' },
      additional: { branch: 'north' },
    });
    expect(await argsFor(z.looseObject({ order_number: orderNumber }), given)).toEqual({
      order_number: '7',
      branch: 'north',
    });
  });

  test('go through what the schema does with them', async () => {
    const trimmed = z.object({ name: z.string().trim().toUpperCase().describe('Who') });
    expect(await argsFor(trimmed, { name: ' ada ' })).toEqual({ name: 'ADA' });
    const looked = z.object({
      id: z
        .string()
        .refine(async (id) => id === 'known', 'nobody has it')
        .describe('Id'),
    });
    await expect(argsFor(looked, { id: 'other' })).rejects.toThrow('id (Id) is not right: nobody has it');
  });

  test('that are missing or invalid are reported in one sentence, without their values', async () => {
    const calling = echo(schema).call({ count: 'many', price: 'whsec_private' });
    await expect(calling).rejects.toBeInstanceOf(ToolError);
    await expect(calling).rejects.toThrow(
      /^This can't be done yet: order_number \(The number on the invoice\) is missing; count \(How many\) is not right: (?!Invalid)[^;]+; price [^;]+\.$/,
    );
    await expect(calling).rejects.toThrow(/^(?!.*(?:many"|whsec_))/);
  });

  test('that are right already stay as they are', async () => {
    const right = fc.record(
      {
        order_number: fc.string(),
        count: fc.maxSafeInteger(),
        price: fc.double({ noNaN: true, noDefaultInfinity: true }),
        express: fc.boolean(),
        sizes: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })),
        address: fc.record({ zip: fc.string() }),
        note: fc.string(),
      },
      { requiredKeys: ['order_number'], noNullPrototype: true },
    );
    const asTyped = fc.asyncProperty(right, async (args) => {
      expect(await argsFor(schema, args)).toEqual(args);
    });
    await fc.assert(asTyped, { numRuns: 200 });
  });

  test('of any kind are taken or declined, and nothing else', { tags: 'long' }, async () => {
    const calling = fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (value, whole) => {
      for (const args of [whole, { order_number: value, sizes: value, address: value, count: value }]) {
        const thrown: unknown = await argsFor(schema, args).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (thrown !== undefined) expect(thrown).toBeInstanceOf(ToolError);
      }
    });
    await fc.assert(calling, { numRuns: 300 });
  });

  test.each([null, undefined])('that are %s are none', async (args) => {
    expect(await argsFor(z.object({}), args)).toEqual({});
    await expect(argsFor(schema, args)).rejects.toThrow(
      'order_number (The number on the invoice) is missing',
    );
  });

  test.each(['text', 7, [1]])('that are no object are refused: %j', async (args) => {
    await expect(argsFor(schema, args)).rejects.toBeInstanceOf(ToolError);
  });

  test('named like parts of an object are only names', async () => {
    const given = JSON.parse('{"order_number":"7","__proto__":{"polluted":true},"constructor":1}') as object;
    expect(await argsFor(schema, given)).toEqual({ order_number: '7' });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
