import { fileURLToPath } from 'node:url';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { fixtureFiles, fixtures as filed, largeFixtures } from '../scripts/fixtures.ts';
import { staleFiles } from '../scripts/generated.ts';
import { schemaFiles } from '../scripts/schemas.ts';
import { decodeBody } from '../src/events/decoding.ts';
import { driftOf } from '../src/events/drift.ts';
import { readEvent } from '../src/events/read-event.ts';

const fixtures: typeof filed = { ...filed, ...largeFixtures };
const folder = fileURLToPath(new URL('../fixtures', import.meta.url));
const receivedAt = Date.UTC(2026, 2, 2, 9, 16);

const bytesOf = (name: string) => {
  const { body, rawBody } = fixtures[name] ?? {};
  return Buffer.from(rawBody ?? JSON.stringify(body));
};

function readFixture(name: string) {
  const bytes = bytesOf(name);
  const decoded = decodeBody(bytes);
  if (!decoded.ok) throw new Error(decoded.reason);
  return readEvent(decoded.value, { body: bytes, headers: fixtures[name]?.headers ?? {}, receivedAt });
}

/** The fixtures that are not as documented: they match no schema, or there is none for them. */
const withoutSchema = new Set([
  'unknown-event',
  'missing-call-id',
  'payload-not-an-object',
  'unreadable-not-json',
]);

const schemaOf: Readonly<Record<string, string>> = {
  'CallHandler.CallStarted': 'call-started',
  'CallHandler.CallEnded': 'call-ended',
  'CallHandler.CallTransferred': 'call-transferred',
  'callAnalysis.pcaCompleted': 'pca-completed',
};

const schemas = schemaFiles();
const validators = new Map<string, ValidateFunction>();

function validatorFor(name: string): ValidateFunction {
  const { eventName, body } = readFixture(name).event;
  const wrapped =
    eventName === 'CallHandler.CallTransferred' && body['payload'] !== undefined ? '-wrapped' : '';
  const file = `${schemaOf[eventName]}${wrapped}.schema.json`;
  const known = validators.get(file);
  if (known) return known;
  const schema: object = JSON.parse(schemas.get(file) ?? 'null');
  const made = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
  validators.set(file, made);
  return made;
}

const names = Object.keys(fixtures);
const valid = names.filter((name) => !withoutSchema.has(name));

describe('the fixtures', () => {
  const ofKnownEvents = names.filter(
    (name) => name !== 'unreadable-not-json' && readFixture(name).event.eventName in schemaOf,
  );
  it.each(ofKnownEvents)('%s is taken by its schema exactly when a typed handler takes it', (name) => {
    const { event } = readFixture(name);
    expect(validatorFor(name)(event.body)).toBe(event.issues.length === 0);
  });

  it('on disk are those of the script', () => {
    expect(staleFiles({ folder, files: fixtureFiles(), command: '' })).toEqual([]);
  });

  it('are no duplicates of one another', () => {
    const traceIds = names
      .filter((name) => name !== 'unreadable-not-json')
      .map((n) => readFixture(n).event.traceId);
    expect(new Set(traceIds).size).toBe(traceIds.length);
  });

  it.each(valid)('%s is valid by the JSON Schema of its event, and reads without issues', (name) => {
    const validate = validatorFor(name);
    validate(fixtures[name]?.body ?? JSON.parse(bytesOf(name).toString()));
    expect(validate.errors).toBeNull();
    expect(readFixture(name).event.issues).toEqual([]);
  });

  it('have neither real phone numbers nor hosts', () => {
    const text = [...fixtureFiles().values()].join('\n');
    for (const [number] of text.matchAll(/\+\d{7,}/g)) expect(number).toMatch(/^\+120255501\d\d$/);
    for (const [, host] of text.matchAll(/[@/]([\w-]+\.[a-z]{2,})/g)) expect(host).toBe('example.com');
  });
});

describe('a fixture reads as it says', () => {
  const second = '2026-03-02T09:15:42';

  it.each([
    ['timestamp-nanosecond-iso', 1772442942123456789n],
    ['timestamp-offset-iso', 1772442942500000000n],
    ['timestamp-seconds', 1772442942000000000n],
    ['timestamp-decimal-seconds', 1772442942123000000n],
    ['timestamp-milliseconds', 1772442942123000000n],
    ['timestamp-microseconds', 1772442942123456000n],
    ['timestamp-digit-string-seconds', 1772442942000000000n],
    ['timestamp-digit-string-milliseconds', 1772442942123000000n],
    ['timestamp-digit-string-microseconds', 1772442942123456000n],
    ['timestamp-digit-string-nanoseconds', 1772442942123456789n],
    ['big-numeric-ids', 1772442942123456789n],
  ])('%s', (name, expected) => {
    const { event } = readFixture(name);
    expect(event).toMatchObject({ occurredAtNs: expected, occurredAtSource: 'body' });
    expect(event.occurredAt.toISOString().slice(0, 19)).toBe(second);
  });

  it('every timestamp fixture is in one of these tests', () => {
    expect(names.filter((name) => name.startsWith('timestamp-'))).toHaveLength(11);
    expect(readFixture('timestamp-unreadable').event.occurredAtSource).toBe('header');
  });

  it.each([
    ['call-started', 'CallHandler.CallStarted', 'call_0001', 'body'],
    ['call-ended', 'CallHandler.CallEnded', 'call_0001', 'body'],
    ['call-transferred-flat', 'CallHandler.CallTransferred', 'call_0002', 'header'],
    ['call-transferred-wrapped', 'CallHandler.CallTransferred', 'call_0002', 'body'],
    ['pca-completed', 'callAnalysis.pcaCompleted', 'call_0001', 'body'],
    ['unknown-event', 'CallHandler.CallPaused', 'call_0001', 'body'],
    ['other-names', 'CallHandler.CallEnded', 'call_0003', 'body'],
    ['numeric-ids', 'CallHandler.CallEnded', '100200300', 'body'],
    ['big-numeric-ids', 'CallHandler.CallEnded', '1234567890123456789', 'body'],
    ['missing-call-id', 'CallHandler.CallEnded', undefined, 'body'],
    ['payload-not-an-object', 'CallHandler.CallEnded', undefined, 'body'],
    ['trace-id-missing', 'CallHandler.CallTransferred', 'call_0004', 'digest'],
    ['trace-id-header-only', 'CallHandler.CallEnded', 'call_0001', 'header'],
    ['trace-id-differs', 'CallHandler.CallEnded', 'call_0001', 'body'],
  ])('%s: %s of %s, its trace id from the %s', (name, eventName, callId, traceIdSource) => {
    const { event, traceIdDiffers } = readFixture(name);
    expect(event).toMatchObject({ eventName, callId, traceIdSource });
    expect(traceIdDiffers).toBe(name === 'trace-id-differs');
    expect(event.issues.length > 0).toBe(name === 'missing-call-id' || name === 'payload-not-an-object');
  });

  it('the same transfer, flat and wrapped, has the same payload', () => {
    const [flat, wrapped] = ['call-transferred-flat', 'call-transferred-wrapped'].map(
      (name) => readFixture(name).event,
    );
    expect(flat?.payload).toEqual(wrapped?.payload);
  });

  it('transcripts come through as they were, and the long one has a megabyte', () => {
    for (const name of names.filter((each) => each.startsWith('transcript-'))) {
      expect(readFixture(name).event.payload['transcript']).toEqual(fixtures[name]?.body?.['transcript']);
    }
    expect(bytesOf('transcript-1mb').length).toBeGreaterThan(1024 ** 2);
    expect(bytesOf('transcript-1mb').length).toBeLessThan(1.5 * 1024 ** 2);
  });

  it('what breaks off is not JSON', () => {
    expect(decodeBody(bytesOf('unreadable-not-json'))).toEqual({ ok: false, reason: 'not_json' });
  });

  it('what is documented, and the story, is no drift', () => {
    const asDocumented = names.filter((name) =>
      /^(call-(started|ended|transferred-\w+)|pca-completed|story-.*)$/.test(name),
    );
    expect(asDocumented).toHaveLength(8);
    expect(asDocumented.flatMap((name) => driftOf(readFixture(name).event))).toEqual([]);
  });

  it('the story is one call, in the order in which it happened', () => {
    const events = names.filter((name) => name.startsWith('story-')).map((name) => readFixture(name).event);
    expect(new Set(events.map((event) => event.callId))).toEqual(new Set(['call_story']));
    const times = events.map((event) => event.occurredAt.getTime());
    expect(times).toEqual([...times].sort((left, right) => left - right));
  });
});
