import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { staleFiles } from '../scripts/generated.ts';
import { isSchemaFile, schemaFiles } from '../scripts/schemas.ts';

const folder = fileURLToPath(new URL('../schemas', import.meta.url));
const schemas = [...schemaFiles()].map(([file, text]) => {
  const schema: object = JSON.parse(text);
  return { file, schema };
});
const callEnded = schemas.find(({ file }) => file === 'call-ended.schema.json')?.schema ?? {};

describe('the JSON Schemas', () => {
  it('on disk are those of the sources', () => {
    expect(staleFiles({ folder, files: schemaFiles(), command: '', owns: isSchemaFile })).toEqual([]);
  });

  it('are noticed when they differ, are missing, or are left over', () => {
    const files = new Map(schemaFiles()).set('call-ended.schema.json', '{}').set('new.schema.json', '{}');
    files.delete('envelope.schema.json');
    expect(staleFiles({ folder, files, command: '', owns: isSchemaFile })).toEqual([
      'call-ended.schema.json',
      'envelope.schema.json',
      'new.schema.json',
    ]);
  });

  it.each(schemas)('$file is valid 2020-12 that stands alone, with a name of ours', ({ file, schema }) => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    expect(ajv.validateSchema(schema)).toBe(true);
    expect(() => ajv.compile(schema)).not.toThrow();
    expect(schema).toMatchObject({
      $id: `urn:ringback:schema:${file.replace('.schema.json', '')}`,
      type: 'object',
    });
    expect(JSON.stringify(schema)).not.toContain('$ref');
  });

  it.each([
    [{ call_id: 'c' }, true],
    [{ call_id: 5, agent_id: null, anything: {} }, true],
    [{ _id: 5, call_id: null }, true],
    [{ callId: 'c', call_id: '' }, true],
    [{ callId: ' ' }, false],
    [{ call_id: 'c', ai_agent_id: {} }, true],
    [{ call_id: '' }, false],
    [{ call_id: null }, false],
    [{ call_id: 'c', status: 5 }, false],
    [{}, false],
  ])('take the payload %j: %s', (payload, expected) => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(callEnded);
    expect(validate({ eventName: 'CallHandler.CallEnded', payload })).toBe(expected);
    expect(validate({ eventName: 'CallHandler.CallStarted', payload })).toBe(false);
  });

  const eventName = 'CallHandler.CallEnded';
  it.each([
    ['flat', { eventName, call_id: 'c' }, true],
    ['flat beside null', { eventName, call_id: 'c', payload: null }, true],
    ['without its fields', { eventName, payload: null }, false],
    ['with a payload that is no object', { eventName, call_id: 'c', payload: 'gone' }, false],
    ['named by the header alone', { payload: { call_id: 'c' } }, true],
    ['with another name', { eventName: 'CallHandler.CallPaused', payload: { call_id: 'c' } }, false],
    ['with odd fields around it', { eventName, traceId: {}, timestamp: [], payload: { call_id: 'c' } }, true],
    ['with an odd agent', { eventName, call_id: 'c', agent_id: {} }, false],
    ['with an agent under another name', { eventName, call_id: 'c', agent_id: {}, ai_agent_id: 7 }, true],
  ])('take a call that ended, %s: %j: %s', (_form, body, expected) => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(callEnded);
    expect(validate(body)).toBe(expected);
  });
});
