// @module-tag long
/** What the JSON Schemas take is what handlers get: nothing that a handler gets may fail a check, and nothing else pass. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixtures } from '../../scripts/fixtures.ts';
import { schemaFiles } from '../../scripts/schemas.ts';
import { isRecord } from '../../src/kit/values.ts';
import { driftOf } from '../../src/events/drift.ts';
import { type KnownEventName, knownEventNames } from '../../src/events/names.ts';
import { readEvent } from '../../src/events/read-event.ts';
import { buildDelivery, deliver, testReceiver } from '../../src/testing/index.ts';
import { concurrently } from '../support/concurrently.ts';
import { type Variation, forms, variationsOf } from './body-variations.ts';

const files: Readonly<Record<KnownEventName, string>> = {
  'CallHandler.CallStarted': 'call-started',
  'CallHandler.CallEnded': 'call-ended',
  'CallHandler.CallTransferred': 'call-transferred',
  'callAnalysis.pcaCompleted': 'pca-completed',
};

function validatorOf(file: string) {
  const schema: object = JSON.parse(schemaFiles().get(`${file}.schema.json`) ?? 'null');
  return new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
}

const validators = new Map(knownEventNames.map((name) => [name, validatorOf(files[name])]));

/** Whether the schema of an event takes a body, as anybody would parse it. */
function isValid(name: KnownEventName, text: string): boolean {
  return validators.get(name)?.(JSON.parse(text)) ?? false;
}

/** Delivers all bodies with one name in the header, or none. Gives for each body whose handler got it. */
async function handlersOf(texts: readonly string[], header: string | undefined): Promise<string[]> {
  const receiver = testReceiver();
  const handled = new Map<string, string>();
  for (const name of knownEventNames) receiver.on(name, ({ traceId }) => void handled.set(traceId, name));
  receiver.fallback(({ traceId }) => void handled.set(traceId, 'fallback'));
  onTestFinished(() => receiver.stop());
  await receiver.start();
  const traceIds: string[] = [];
  await concurrently([...texts.entries()], 50, async ([index, text]) => {
    const delivery = buildDelivery(Buffer.from(text), { headers: { 'x-webhook-event': header } });
    const answer = await deliver(receiver, delivery);
    expect(answer, text).toMatchObject({ status: 200, body: { status: 'accepted' } });
    traceIds[index] = (answer.body as { traceId: string }).traceId;
  });
  await expect.poll(() => handled.size).toBe(texts.length);
  return traceIds.map((traceId) => handled.get(traceId) ?? 'none');
}

const textsOf = (variations: readonly Variation[]) => variations.map(({ text }) => text);

/** The variations on which schema and handler don't agree, each with who got it. */
function disagreements(name: KnownEventName, variations: readonly Variation[], handled: readonly string[]) {
  return variations
    .map(({ what, text }, index) => ({ what, handler: handled[index], valid: isValid(name, text) }))
    .filter(({ handler, valid }) => valid !== (handler === name));
}

describe.each(knownEventNames)('the schema of %s takes exactly what its handler gets', (name) => {
  test.each(forms)('of every variation, %s', async (form) => {
    const variations = variationsOf(name, form);
    expect(variations.length).toBeGreaterThan(1_000);
    const handled = await handlersOf(textsOf(variations), name);
    expect(disagreements(name, variations, handled)).toEqual([]);
    expect(handled).toContain('fallback');
    expect(handled).toContain(name);
  });

  test('of the fixtures', async () => {
    const bodies = Object.entries(fixtures)
      .map(([what, { body, rawBody }]) => ({ what, text: rawBody ?? JSON.stringify(body) }))
      .filter(({ what }) => what !== 'unreadable-not-json');
    expect(disagreements(name, bodies, await handlersOf(textsOf(bodies), name))).toEqual([]);
  });
});

describe('a body without a name', () => {
  const unnamed = { call_id: 'call-1', transfer_to: '1001' };
  const validFor = (body: object) => knownEventNames.filter((name) => isValid(name, JSON.stringify(body)));

  test.each(knownEventNames)('is valid for every event, and is that of the header: %s', async (name) => {
    expect(validFor(unnamed)).toEqual(knownEventNames);
    expect(await handlersOf([JSON.stringify(unnamed)], name)).toEqual([name]);
  });

  test.each(knownEventNames)('is not one that names %s, which no header changes', async (eventName) => {
    const body = { ...unnamed, eventName };
    expect(validFor(body)).toEqual([eventName]);
    for (const header of [undefined, 'A.B', ...knownEventNames]) {
      expect(await handlersOf([JSON.stringify(body)], header)).toEqual([eventName]);
    }
  });

  test('goes to the fallback without a header, whatever it is valid for, unless it is a transfer', async () => {
    const calls = [{ call_id: 'call-2' }, { payload: { _id: 'call-3' } }];
    for (const body of calls) expect(validFor(body)).toHaveLength(3);
    const texts = [unnamed, ...calls].map((body) => JSON.stringify(body));
    const handled = ['CallHandler.CallTransferred', 'fallback', 'fallback'];
    expect(await handlersOf(texts, undefined)).toEqual(handled);
  });
});

test('the schema of wrapped transfers takes those transfers that have a payload', () => {
  const name = 'CallHandler.CallTransferred';
  const isValidWrapped = validatorOf('call-transferred-wrapped');
  for (const { what, text } of forms.flatMap((form) => variationsOf(name, form))) {
    const body: { readonly payload?: unknown } = JSON.parse(text);
    expect(isValidWrapped(body), what).toBe(isRecord(body.payload) && isValid(name, text));
  }
});

test('the schema of the envelope allows everything that is not drift', () => {
  const isDocumented = validatorOf('envelope');
  for (const field of ['traceId', 'organizationId', 'event', 'timestamp']) {
    for (const value of [null, 'text', 5, true, [], {}]) {
      const body = { eventName: 'CallHandler.CallEnded', payload: { call_id: 'c' }, [field]: value };
      const { event } = readEvent(body, { body: Buffer.alloc(0), headers: {}, receivedAt: 0 });
      expect(driftOf(event).length === 0, JSON.stringify(body)).toBe(isDocumented(body));
    }
  }
});

describe('what a JSON Schema cannot say', () => {
  const name = 'CallHandler.CallTransferred';
  const transfer = '{"call_id":"c","transfer_to":"1001"';
  const topics = (count: number) =>
    `${transfer},"call_summary":{"topics_discussed":[${'"topic",'.repeat(count)}5]}}`;

  test.each([
    { what: 'items from the 1,001st on are not compared', text: topics(1_000), taken: true, valid: false },
    { what: 'those before are', text: topics(999), taken: false, valid: false },
    {
      what: 'an integer that a number would round is read as a text',
      text: `${transfer},"status":9007199254740993}`,
      taken: true,
      valid: false,
    },
    {
      what: 'half of a surrogate pair is in no name',
      text: `${transfer},"eventName":"half \\ud800"}`,
      taken: true,
      valid: false,
    },
    {
      what: 'nor in the id of a call, where U+0000 is none either',
      text: '{"call_id":"half \\ud800","_id":"zero \\u0000","transfer_to":"1001"}',
      taken: false,
      valid: true,
    },
    {
      what: 'a character beyond 16 bits counts as two',
      text: JSON.stringify({ call_id: {}, _id: '😀'.repeat(257), transfer_to: 'x' }),
      taken: false,
      valid: true,
    },
  ])('$what', async ({ text, taken, valid }) => {
    const [taker] = await handlersOf([text], name);
    expect({ taken: taker === name, valid: isValid(name, text) }).toEqual({ taken, valid });
  });
});
