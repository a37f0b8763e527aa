/** The API over HTTP, mounted as users mount it. Each answer is checked against the OpenAPI document that describes it. */
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { text as allOf } from 'node:stream/consumers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import express from 'express';
import fastify from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ringbackError } from '../../src/errors/errors.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { openApiDocument } from '../../src/operate/api/openapi.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { type Authorize, ConfigError, type Mounted } from '../support/public.ts';
import { beginElsewhere } from '../store/parts.ts';
import { isOnPostgres, rowsIn, withStore } from '../support/inbox.ts';
import { made, started } from '../support/receiver.ts';
import { connectedHttp2, listening, uploadedWithoutEnd } from '../support/servers.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const change = { 'x-ringback-request': '1', 'content-type': 'application/json' };

/** A receiver with a dead letter, a done event and a delivery in quarantine, and its API for whoever may do this. */
async function inbox(authorize: Authorize = () => 'all') {
  let isMended = false;
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database }, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
      if (traceId === 'trace-dead' && !isMended) throw new Error('the CRM is down');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-done', callId: 'call-1' }));
  await deliver(receiver, bodyOf({ traceId: 'trace-dead', callId: 'call-2' }));
  await logs.until('run_dead');
  await logs.until('run_done');
  const forged = bodyOf({ traceId: 'trace-forged' });
  await deliver(receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
  await expect.poll(async () => (await receiver.counts()).quarantine.notAuthentic).toBe(1);
  const api = receiver.api({ authorize });
  return { database, receiver, logs, ask: asking(api), mend: () => (isMended = true) };
}

/** Asks the API, and checks what it answers against its document. */
function asking(api: Mounted) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = change) => {
    const request = new Request(`https://ops.example.com${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await api.fetch(request);
    const text = await response.text();
    const json: unknown = text === '' ? undefined : JSON.parse(text);
    conforms({ method, path: new URL(request.url).pathname, status: response.status, json });
    return { status: response.status, headers: response.headers, json };
  };
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Record<string, { responses: { 200: { content: Record<string, { schema: { $ref: string } }> } } }>
    >
  >;
  readonly components: unknown;
}

interface Answered {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly json: unknown;
}

const document = openApiDocument() as unknown as Document;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'https://example.com/document', components: document.components });

/** Made once for each schema: to make one takes longer than most tests. */
const validators = new Map<string, ReturnType<typeof ajv.compile>>();

function validatorOf(name: string) {
  const known = validators.get(name) ?? ajv.compile({ $ref: `https://example.com/document${name}` });
  validators.set(name, known);
  return known;
}

function conforms({ method, path, status, json }: Answered): void {
  if (json === undefined || path === '/openapi.json') return;
  const [, operation] =
    Object.entries(document.paths).find(([known, methods]) => {
      const pattern = new RegExp(`^${known.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      return method.toLowerCase() in methods && pattern.test(path);
    }) ?? [];
  const described =
    operation?.[method.toLowerCase()]?.responses[200].content['application/json']?.schema.$ref;
  const name = status === 200 ? described : '#/components/schemas/Error';
  const validate = validatorOf(String(name));
  expect([path, validate(json), validate.errors]).toEqual([path, true, null]);
}

describe('looking', () => {
  test('lists and records come without what callers have said', { tags: 'long' }, async () => {
    const { ask } = await inbox();
    expect(await ask('GET', '/counts')).toMatchObject({ json: { events: { done: 2 }, runs: { dead: 1 } } });
    expect(await ask('GET', '/events?state=dead&limit=10')).toMatchObject({
      json: { events: [{ traceId: 'trace-dead', runs: [{ handler: 'crm', state: 'dead' }] }] },
    });
    expect(await ask('GET', '/calls/call-1')).toMatchObject({ json: { callId: 'call-1' } });
    expect(await ask('GET', '/calls')).toMatchObject({ json: { calls: [{}, {}] } });
    expect(await ask('GET', '/drift')).toMatchObject({ status: 200 });
    const { json } = await ask('GET', '/events/trace-dead');
    for (const part of ['body', 'raw', 'headers']) expect(Object.keys(json as object)).not.toContain(part);
    const deliveries = await ask('GET', '/quarantine');
    expect(deliveries).toMatchObject({ json: { deliveries: [{ kind: 'not_authentic' }] } });
  });

  test('of an event, the number of its duplicates and their times', async () => {
    const { database, receiver } = await inbox();
    const body = bodyOf({ traceId: 'trace-done' });
    for (let copies = 0; copies < 2; copies += 1)
      expect((await deliver(receiver, body)).json.status).toBe('duplicate');
    await receiver.stop();
    const { receiver: later } = await started({ database });
    const ask = asking(later.api({ authorize: () => 'all' }));
    const time = expect.stringMatching(/^2\d{3}-.*Z$/) as string;
    const duplicates = { count: 2, firstSeenAt: time, lastSeenAt: time };
    expect(await ask('GET', '/events/trace-done')).toMatchObject({ json: { duplicates } });
    const { json } = await ask('GET', '/events');
    expect((json as { events: object[] }).events.map((event) => 'duplicates' in event)).toEqual([
      false,
      true,
    ]);
  });

  test('says what joins wait for in a call', async () => {
    const { receiver } = await started({}, (r) =>
      r.onCall(
        { name: 'save', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '1h' },
        () => {},
      ),
    );
    const ask = asking(receiver.api({ authorize: () => ['look'] }));
    await deliver(receiver, bodyOf({ traceId: 'trace-ended', callId: 'call/1' }));
    await expect.poll(async () => (await receiver.calls.joins('call/1')).length).toBe(1);
    const { json } = await ask('GET', '/calls/call%2F1/joins');
    const { joins } = json as { joins: { since: string; until: string }[] };
    expect(joins).toMatchObject([
      {
        handler: 'save',
        missing: ['callAnalysis.pcaCompleted'],
        runs: [{ traceId: 'trace-ended', state: 'due' }],
      },
    ]);
    const [{ since, until } = { since: '', until: '' }] = joins;
    expect(Date.parse(until) - Date.parse(since)).toBe(3_600_000);
    expect(await ask('GET', '/calls/nothing/joins')).toMatchObject({ status: 200, json: { joins: [] } });
  });

  test.each([
    ['.', '~.'],
    ['..', '~..'],
    ['~.', '~~.'],
    ['~..', '~~..'],
    ['~', '~'],
    ['...', '...'],
    ['%2e', '%252e'],
    ['a/../b', 'a%2F..%2Fb'],
  ])('an event, a call and a handler with the id %s are at %s', async (id, segment) => {
    const { receiver } = await started({}, (r) => r.on('*', { name: id }, () => {}));
    const ask = asking(receiver.api({ authorize: () => ['look', 'pause'] }));
    await deliver(receiver, bodyOf({ traceId: id, callId: id }));
    expect(await ask('GET', `/events/${segment}`)).toMatchObject({ json: { traceId: id } });
    expect(await ask('GET', `/calls/${segment}`)).toMatchObject({ json: { callId: id } });
    expect(await ask('POST', `/handlers/${segment}/pause`, {})).toMatchObject({ status: 200 });
    const { handlers } = await receiver.handlers.list();
    expect(handlers.filter(({ pause }) => pause).map(({ name }) => name)).toEqual([id]);
  });

  test('what tells of what was said in a call is only for whoever may see bodies', async () => {
    let allowed: 'read' | readonly ['look'] = 'read';
    const { ask, receiver } = await inbox(() => allowed);
    const summary = { transfer_reason: 'a chargeback', customer_sentiment: 'negative' };
    const transferred = { transfer_to: '+15550100', status: 'completed', call_summary: summary };
    for (const [traceId, eventName, payload] of [
      ['moved', 'CallHandler.CallTransferred', transferred],
      ['analysed', 'callAnalysis.pcaCompleted', { status: 'failed', reason: 'he shouted' }],
    ] as const)
      await deliver(receiver, bodyOf({ traceId, eventName, callId: 'call-9', payload }));
    const call = async () => (await ask('GET', '/calls/call-9')).json as Record<string, object>;
    const whole = await call();
    expect(whole).toMatchObject({
      transfer: { reason: 'a chargeback', sentiment: 'negative' },
      analysis: { reason: 'he shouted' },
    });
    allowed = ['look'];
    const { reason: _, sentiment, ...transfer } = whole['transfer'] as Record<string, unknown>;
    const { reason, ...analysis } = whole['analysis'] as Record<string, unknown>;
    expect([reason, sentiment]).toEqual(['he shouted', 'negative']);
    expect(await call()).toEqual({ ...whole, transfer, analysis });
    const { calls } = (await ask('GET', '/calls')).json as { calls: unknown[] };
    expect(calls).toContainEqual({ ...whole, transfer, analysis });
  });

  test('bodies and headers come if they are asked for', async () => {
    const { ask, receiver } = await inbox();
    expect(await ask('GET', '/events/trace-done?body=true')).toMatchObject({
      json: { body: { traceId: 'trace-done' }, headers: { 'content-type': expect.anything() } },
    });
    const event = (await ask('GET', '/events/trace-done?body=true')).json as { raw: string };
    expect(Buffer.from(event.raw, 'base64').toString()).toBe(
      bodyOf({ traceId: 'trace-done', callId: 'call-1' }),
    );
    const { json } = await ask('GET', '/quarantine/1?body=true');
    const { body } = json as { body: string };
    expect(JSON.parse(Buffer.from(body, 'base64').toString())).toMatchObject({ traceId: 'trace-forged' });
    const { entries } = await receiver.audit.list();
    expect(entries.map(({ what }) => what)).toEqual(['delivery 1', 'trace-done']);
  });

  test('who looks at a body is recorded once an hour', async () => {
    const clock = new ManualClock();
    const { receiver } = await started({ clock });
    for (const traceId of ['first', 'second']) await deliver(receiver, bodyOf({ traceId }));
    let by = 'ann';
    const ask = asking(receiver.api({ authorize: () => ({ access: 'read', by }) }));
    const lookAt = async (traceId: string, as: string) => {
      by = as;
      expect((await ask('GET', `/events/${traceId}?body=true`)).status).toBe(200);
    };
    await lookAt('first', 'ann');
    await lookAt('first', 'bob');
    await lookAt('second', 'ann');
    clock.advance(3_599_999);
    await lookAt('first', 'ann');
    clock.advance(1);
    await lookAt('first', 'ann');
    const { entries } = await receiver.audit.list();
    expect(entries.map((entry) => [entry.by, entry.what])).toEqual([
      ['ann', 'first'],
      ['ann', 'second'],
      ['bob', 'first'],
      ['ann', 'first'],
    ]);
  });

  test('whoever may look is told which scheme would verify a delivery, and not with which secret', async () => {
    const { ask, logs } = await inbox(() => ['look']);
    const { status, json } = await ask('GET', '/quarantine/1/signature');
    expect([status, json]).toEqual([
      200,
      { status: 'does_not_verify', expected: 't-v1-hex-whole', message: expect.any(String) },
    ]);
    const fingerprint = String(logs.of('delivery_accepted')[0]?.['secret']);
    for (const part of ['whsec', fingerprint]) expect(JSON.stringify(json)).not.toContain(part);
  });

  test('names the row in which somebody has left no JSON, and shows the others', async () => {
    const { database, receiver, ask } = await inbox();
    const forged = bodyOf({ traceId: 'trace-forged-2' });
    await deliver(receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
    await expect.poll(async () => (await receiver.counts()).quarantine.notAuthentic).toBe(2);
    const of = (traceId: string) => `select sequence from events where trace_id = '${traceId}'`;
    await rowsIn(database, `update bodies set headers = '{' where sequence = (${of('trace-dead')})`);
    await rowsIn(database, "update events set facts = '{' where trace_id = 'trace-dead'");
    await rowsIn(database, "update quarantine set headers = '{' where id = 1");
    for (const [path, sentence] of [
      [
        '/events/trace-dead',
        /^The column bodies\.headers should hold JSON, but does not in the row where sequence = \d+: /,
      ],
      ['/calls/call-2', /^The column events\.facts should .* where trace_id = "trace-dead": /],
      ['/quarantine/1', /^The column quarantine\.headers should .* where id = 1: /],
      ['/quarantine/1/signature', /^The column quarantine\.headers should .* where id = 1: /],
    ] as const)
      expect(await ask('GET', path)).toMatchObject({
        status: 500,
        json: { error: { code: 'row_damaged', message: expect.stringMatching(sentence) } },
      });
    expect(await ask('GET', '/quarantine')).toMatchObject({ json: { deliveries: [{ id: 2 }, { id: 1 }] } });
    for (const path of ['/events/trace-done', '/calls/call-1', '/quarantine/2', '/events'])
      expect(await ask('GET', path)).toMatchObject({ status: 200 });
  });

  test('pages follow each other by their cursor, and one that has not changed is not sent again', async () => {
    const { ask } = await inbox();
    const first = await ask('GET', '/events?limit=1');
    const { cursor } = first.json as { cursor: string };
    expect(await ask('GET', `/events?limit=1&cursor=${cursor}`)).toMatchObject({
      json: { events: [{ traceId: 'trace-done' }] },
    });
    const etag = first.headers.get('etag') ?? '';
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await ask('GET', '/events?limit=1', undefined, { 'if-none-match': tags });
      expect([again.status, again.json]).toEqual([304, undefined]);
    }
    const described = {
      parameters: expect.arrayContaining([{ $ref: '#/components/parameters/IfNoneMatch' }]),
      responses: {
        200: { headers: { etag: { $ref: '#/components/headers/ETag' } } },
        304: { $ref: '#/components/responses/NotModified' },
      },
    };
    expect(document.components).toMatchObject({
      parameters: { IfNoneMatch: { name: 'if-none-match', in: 'header' } },
      headers: { ETag: { schema: { type: 'string' } } },
      responses: { NotModified: { headers: { etag: { $ref: '#/components/headers/ETag' } } } },
    });
    expect(document.paths['/events']?.['get']).toMatchObject(described);
    expect(document.paths['/events/replay']?.['post']).not.toHaveProperty('responses.304');
    const other = await ask('GET', '/events?limit=1', undefined, { 'if-none-match': '"other"' });
    expect(other.status).toBe(200);
  });

  test('says how much waits now, and for how long', async () => {
    const { ask, receiver } = await inbox(() => ['look']);
    expect(await ask('GET', '/backlog')).toMatchObject({ json: { waiting: 0, oldestWaiting: 0 } });
    await receiver.handlers.pause('crm');
    await deliver(receiver, bodyOf());
    await expect.poll(async () => (await ask('GET', '/backlog')).json).toMatchObject({ waiting: 1 });
    // Empty until a minute ends, which may happen in the middle of a test.
    const points = expect.any(Array);
    expect(await ask('GET', '/history?step=10m')).toMatchObject({ status: 200, json: { points } });
    expect(await ask('GET', '/history?step=often')).toMatchObject({ status: 400 });
  });

  test('says what one handler did over time, and how long that took', async () => {
    const database = temporaryDatabase();
    const former = await started({ database }, (r) => r.on('*', { name: 'crm/sync' }, () => {}));
    await deliver(former.receiver, bodyOf());
    await former.logs.until('run_done');
    // Counts are written when a minute is over or the receiver stops.
    await former.receiver.stop();
    const { receiver } = await started({ database });
    const ask = asking(receiver.api({ authorize: () => ['look'] }));
    const point = { done: 1, retried: 0, dead: 0, handlerP50: expect.any(Number) };
    expect(await ask('GET', '/handlers/crm%2Fsync/history?resolution=hour')).toMatchObject({
      json: { resolution: 'hour', points: [point] },
    });
    expect(await ask('GET', '/handlers/other/history')).toMatchObject({ json: { points: [] } });
    expect(await ask('GET', '/handlers/crm/history?step=often')).toMatchObject({ status: 400 });
  });

  test('no answer may be cached', async () => {
    const { ask } = await inbox();
    const { headers } = await ask('GET', '/counts');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    // Opened by itself in a browser, an answer loads nothing, is in no frame, and its links don't name its address.
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });
});

describe('changing', () => {
  test('a dead letter is replayed in the name of the caller, after a dry run', async () => {
    const { ask, receiver, logs, mend } = await inbox(() => ({ access: 'all', by: 'ann' }));
    const filter = { state: 'dead' };
    expect(await ask('POST', '/events/replay', { filter, dryRun: true })).toMatchObject({
      json: { runs: 1 },
    });
    mend();
    const done = logs.of('run_done').length;
    expect(await ask('POST', '/events/replay', { filter, reason: 'mended' })).toMatchObject({
      json: { runs: 1, handlers: { crm: 1 } },
    });
    await logs.until('run_done', done + 1);
    expect((await receiver.counts()).runs.dead).toBe(0);
    expect(await ask('GET', '/audit')).toMatchObject({
      json: { entries: [{ action: 'replay', by: 'ann', reason: 'mended', runs: 1 }] },
    });
  });

  test('a long replay is answered while it continues, and can be stopped', { tags: 'long' }, async () => {
    const { ask } = await inbox(() => ({ access: 'all', by: 'ann' }));
    const body = { filter: { since: '2020-01-01T00:00:00Z' }, rate: 0.001 };
    const begun = await ask('POST', '/events/replay', body);
    expect(begun).toMatchObject({ status: 200, json: { id: 1, state: 'running', runs: 1 } });
    const entry = { id: 1, by: 'ann', runs: 1, progress: { state: 'running', handlers: { crm: 1 } } };
    expect(await ask('GET', '/audit/running')).toMatchObject({ json: { entries: [entry] } });
    const why = { reason: 'enough' };
    expect(await ask('POST', '/audit/1/stop', why)).toMatchObject({ status: 200, json: { stopped: true } });
    expect(await ask('POST', '/audit/1/stop', why)).toMatchObject({ json: { stopped: false } });
    expect(await ask('GET', '/audit/running')).toMatchObject({ json: { entries: [] } });
    expect(await ask('POST', '/audit/x/stop', why)).toMatchObject({ status: 404 });
    const { json } = await ask('GET', '/audit');
    expect(json).toMatchObject({
      entries: [{ action: 'stop' }, { action: 'stop', reason: 'enough' }, { progress: { state: 'stopped' } }],
    });
  });

  test('a dead letter is dismissed, a delivery discarded, and a call erased', { tags: 'long' }, async () => {
    const { ask, receiver } = await inbox();
    const dismissal = { filter: { state: 'dead' }, reason: 'done by hand' };
    expect(await ask('POST', '/events/dismiss', dismissal)).toMatchObject({ json: { runs: 1 } });
    // Proxies log queries.
    expect(await ask('DELETE', '/quarantine/1?reason=noise')).toMatchObject({ status: 400 });
    const noise = { reason: 'noise' };
    expect(await ask('DELETE', '/quarantine/1', noise)).toMatchObject({ json: { discarded: true } });
    expect(await ask('POST', '/erase', { callId: 'call-1', reason: 'asked by call-1' })).toMatchObject({
      json: { events: 1 },
    });
    expect(await ask('POST', '/handlers/crm/pause', {})).toMatchObject({ status: 200 });
    expect(await ask('POST', '/handlers/crm/resume')).toMatchObject({ json: { resumed: true } });
    expect((await ask('GET', '/audit')).json).toMatchObject({
      entries: [
        { action: 'resume', what: 'crm' },
        { action: 'pause', what: 'crm' },
        { action: 'erase', what: '', events: 1, runs: 0 },
        { action: 'discard', what: 'delivery 1', reason: 'noise', events: 1 },
        { action: 'dismiss', what: '{"state":"dead"}', reason: 'done by hand', runs: 1 },
      ],
    });
    expect(await receiver.counts()).toMatchObject({
      events: { done: 1 },
      runs: { dead: 0 },
      quarantine: { notAuthentic: 0 },
    });
  });

  test('every change is recorded with who has made it, and why', async () => {
    const { ask, receiver } = await inbox(() => ({ access: 'all', by: 'ann' }));
    const filter = { state: 'dead' };
    const changes = [
      ['replay', 'POST', '/events/replay', { filter }],
      ['stop', 'POST', '/audit/1/stop', {}],
      ['dismiss', 'POST', '/events/dismiss', { filter }],
      ['pause', 'POST', '/handlers/crm/pause', {}],
      ['resume', 'POST', '/handlers/crm/resume', {}],
      ['mute', 'POST', '/failures/a-group/mute', {}],
      ['unmute', 'POST', '/failures/a-group/unmute', {}],
      ['release', 'POST', '/quarantine/1/release', {}],
      ['reverify', 'POST', '/quarantine/reverify', {}],
      ['discard', 'DELETE', '/quarantine/1', {}],
      ['erase', 'POST', '/erase', { callId: 'call-3' }],
    ] as const;
    const methods = Object.values(document.paths).flatMap((path) => Object.keys(path));
    expect(methods.filter((method) => method !== 'get')).toHaveLength(changes.length);
    for (const [, method, path, body] of changes) await ask(method, path, { ...body, reason: 'by request' });
    const { entries } = await receiver.audit.list();
    expect(entries.toReversed().map(({ action, by, reason }) => [action, by, reason])).toEqual(
      changes.map(([action]) => [action, 'ann', 'by request']),
    );
  });

  test('an erasure does not rewrite the database, for which deliveries would have to wait', async () => {
    const { ask } = await inbox();
    expect(await ask('POST', '/erase', { callId: 'call-1', compact: true })).toMatchObject({
      status: 400,
      json: { error: { code: 'body_invalid', message: expect.stringContaining('compact') } },
    });
    expect(await ask('POST', '/erase', { callId: 'call-1' })).toMatchObject({
      json: { events: 1, checkpointed: !isOnPostgres, compacted: false },
    });
  });

  test('a delivery that cannot be released is answered with the reason', async () => {
    const { ask } = await inbox();
    expect(await ask('POST', '/quarantine/1/release')).toMatchObject({
      status: 409,
      json: { error: { code: 'release_not_authentic' } },
    });
    expect(await ask('POST', '/quarantine/reverify', { dryRun: true })).toMatchObject({
      json: { checked: 1, released: 0, remaining: 1 },
    });
    expect(await ask('POST', '/quarantine/reverify')).toMatchObject({ json: { checked: 1, remaining: 1 } });
    const { entries } = (await ask('GET', '/audit')).json as { entries: { finishedAt?: string }[] };
    expect(entries.map(({ finishedAt }) => finishedAt !== undefined)).toEqual([true, false]);
  });

  test.each([
    ['without the header', { 'content-type': 'application/json' }],
    ['from another site', { ...change, 'sec-fetch-site': 'cross-site' }],
    // Over HTTP without TLS, browsers send no Sec-Fetch-Site.
    ['of another origin', { ...change, origin: 'http://evil.example' }],
    ['of no origin', { ...change, origin: 'null' }],
    ['of another port', { ...change, origin: 'https://ops.example.com:8443' }],
    ['for another host', { ...change, origin: 'https://ops.example.com', host: '10.0.0.1:3000' }],
  ])('a change %s is refused, as a page of another site would send it', async (_, headers) => {
    const { ask, receiver } = await inbox();
    const refused = await ask('POST', '/events/dismiss', { filter: { state: 'dead' }, reason: 'x' }, headers);
    expect(refused).toMatchObject({ status: 403, json: { error: { code: 'origin_refused' } } });
    expect((await receiver.counts()).runs.dead).toBe(1);
  });

  test.each<Record<string, string>>([
    { origin: 'https://ops.example.com' },
    { origin: 'https://ops.example.com', host: 'ops.example.com:443' },
    { origin: 'http://ops.example.com:8080', host: 'ops.example.com:8080' },
    // Behind proxies, one of which has set a host of its own.
    {
      origin: 'https://ops.example.com',
      host: '10.0.0.1:3000',
      'x-forwarded-host': 'ops.example.com, 10.0.0.2',
    },
    { origin: 'https://ops.example.com', host: '10.0.0.1:3000', 'sec-fetch-site': 'same-origin' },
  ])('a change with %j is the own page’s', async (headers) => {
    const { ask } = await inbox();
    expect((await ask('POST', '/handlers/crm/pause', {}, { ...change, ...headers })).status).toBe(200);
  });

  test('a page of another site cannot cause audit entries for looking at a body', async () => {
    const { ask, receiver } = await inbox(() => ({ access: 'all', by: 'ann' }));
    const own = { 'x-ringback-request': '1' };
    const look = (headers: Record<string, string>) =>
      ask('GET', '/events/trace-done?body=true', undefined, headers);
    for (const headers of [
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'sec-fetch-site': 'same-site' },
      { ...own, origin: 'http://evil.example' },
      // An image or a link sends no origin, and no header of its own.
      {},
      { 'sec-fetch-site': 'none' },
    ])
      expect(await look(headers)).toMatchObject({ status: 403, json: { error: { code: 'origin_refused' } } });
    expect((await receiver.audit.list()).entries).toEqual([]);
    for (const headers of [own, { ...own, 'sec-fetch-site': 'same-origin' }])
      expect((await look(headers)).status).toBe(200);
    expect((await receiver.audit.list()).entries).toMatchObject([{ action: 'look', by: 'ann' }]);
  });
});

// No store is asked before it is known who asks for what.
describe.skipIf(isOnPostgres)('who may do what', () => {
  test.each([undefined, null, false, [], 'everything', {}, { access: 'nothing', by: 'ann' }])(
    'nobody who is answered %j gets in',
    async (allowed) => {
      const { ask } = await inbox((() => allowed) as Authorize);
      expect(await ask('GET', '/counts')).toMatchObject({
        status: 403,
        json: { error: { code: 'forbidden' } },
      });
      expect(await ask('GET', '/openapi.json')).toMatchObject({ status: 403 });
    },
  );

  test('a failure of authorize denies access, and is logged', async () => {
    const { ask, logs } = await inbox(() => {
      throw new Error('the session store is down');
    });
    expect(await ask('GET', '/counts')).toMatchObject({ status: 500, json: { error: { code: 'failed' } } });
    const cause = expect.stringMatching(/^authorize failed: Error \(test\/operate\/api\.test\.ts:\d+:\d+\)$/);
    expect(logs.of('api_failed')).toMatchObject([{ cause }]);
  });

  test.each(['api', 'page'] as const)('failures of authorize do not fill the log: %s', async (part) => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock });
    // Anybody can send a token that can't be read.
    const mounted = receiver[part]({ authorize: () => JSON.parse('no token') as 'read' });
    for (let asked = 0; asked < 100; asked += 1)
      expect((await mounted.fetch(new Request('https://ops.example.com/'))).status).toBe(500);
    clock.advance(1_000);
    const lines = logs.of('api_failed');
    expect(lines.map(({ count }) => count)).toEqual([...Array.from({ length: 5 }), 95]);
    expect(new Set(lines.map(({ cause }) => cause)).size).toBe(1);
  });

  test('the log has nothing of a token that authorize could not read', async () => {
    const { ask, logs } = await inbox(() => JSON.parse('token-4711') as 'read');
    expect(await ask('GET', '/counts')).toMatchObject({ status: 500 });
    expect(await logs.until('api_failed')).toMatchObject([{ cause: expect.stringContaining('SyntaxError') }]);
    expect(JSON.stringify(logs.of('api_failed'))).not.toContain('token-4711');
  });

  test.each([null, '', ' ', 5])('nobody gets in without a name where one is told: %j', async (by) => {
    const { ask, logs } = await inbox((() => ({ access: 'all', by })) as never);
    expect(await ask('GET', '/counts')).toMatchObject({ status: 500, json: { error: { code: 'failed' } } });
    expect(logs.of('api_failed')).toMatchObject([
      {
        cause: expect.stringMatching(
          /^authorize should return \{ access, by \} with a name as by, but by is /,
        ),
      },
    ]);
    const { ask: askNothing } = await inbox((() => ({ access: undefined, by })) as never);
    expect(await askNothing('GET', '/counts')).toMatchObject({ status: 403 });
  });

  test('the access read allows no route that changes something', async () => {
    const { ask, receiver } = await inbox(() => 'read');
    const { paths } = (await ask('GET', '/openapi.json')).json as Document;
    const before = await receiver.counts();
    const changing = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'get')
        .map((method) => [method.toUpperCase(), path.replace(/\{\w+\}/, '1')] as const),
    );
    expect(changing.length).toBeGreaterThan(5);
    for (const [method, path] of changing)
      expect(await ask(method, path, { filter: { state: 'dead' }, reason: 'x' })).toMatchObject({
        status: 403,
      });
    expect(await ask('GET', '/events/trace-done?body=true')).toMatchObject({ status: 200 });
    expect(await receiver.counts()).toEqual(before);
  });

  test('a list of actions allows these and no others', async () => {
    const { ask } = await inbox(() => ['look', 'replay']);
    expect(await ask('GET', '/events/trace-done')).toMatchObject({ status: 200 });
    expect(await ask('GET', '/events/trace-done?body=true')).toMatchObject({ status: 403 });
    expect(await ask('POST', '/events/replay', { filter: { state: 'dead' }, dryRun: true })).toMatchObject({
      status: 200,
    });
    expect(await ask('POST', '/erase', { callId: 'call-1' })).toMatchObject({ status: 403 });
    const { ask: askOnlyChanging } = await inbox(() => ['quarantine']);
    expect(await askOnlyChanging('GET', '/quarantine/1/signature')).toMatchObject({ status: 403 });
  });

  test.each([
    [['replay'], { actions: ['replay'] }],
    [
      { access: 'read', by: 'ann' },
      { by: 'ann', actions: ['look', 'bodies'] },
    ],
  ])('whoever is let in is told what they may do: %j', async (allowed, access) => {
    const { ask } = await inbox((() => allowed) as Authorize);
    expect(await ask('GET', '/access')).toMatchObject({
      status: 200,
      json: { ...access, now: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
  });

  test('without authorize there is no API', () => {
    const { receiver } = made();
    expect(() => receiver.api({} as never)).toThrow(ConfigError);
    expect(() => receiver.api({} as never)).toThrow("a function that returns 'all'");
    expect(() => receiver.api(undefined as never)).toThrow('authorize in receiver.api');
  });
});

describe.skipIf(isOnPostgres)('what is wrong with a request', () => {
  test('the root answers 404 with where to look', async () => {
    const { ask } = await inbox();
    for (const path of ['', '/'])
      expect(await ask('GET', path)).toMatchObject({
        status: 404,
        json: { error: { message: 'There is no /. See /openapi.json for the paths.' } },
      });
  });

  test.each([
    ['GET', '/events?limt=1', undefined, 400, 'query_invalid'],
    ['GET', '/events?limit=100000', undefined, 400, 'query_invalid'],
    ['GET', '/events?state=dead&state=done', undefined, 400, 'query_invalid'],
    ['GET', '/events?since=yesterday', undefined, 400, 'query_invalid'],
    ['GET', '/history?step=never', undefined, 400, 'query_invalid'],
    ['GET', '/nothing', undefined, 404, 'not_found'],
    ['GET', '/events/no-such-trace', undefined, 404, 'not_found'],
    ['GET', '/events/%E0%A4%A', undefined, 400, 'path_invalid'],
    ['GET', '/events/nobody/signature', undefined, 404, 'not_found'],
    ['GET', '/quarantine/one', undefined, 404, 'not_found'],
    ['GET', '/quarantine/99', undefined, 404, 'not_found'],
    ['GET', '/quarantine/99/signature', undefined, 404, 'not_found'],
    ['PUT', '/events', undefined, 405, 'method_not_allowed'],
    ['POST', '/changes', undefined, 405, 'method_not_allowed'],
    ['POST', '/openapi.json', undefined, 405, 'method_not_allowed'],
    ['POST', '/events/replay', { filter: {} }, 400, 'option_invalid'],
    ['POST', '/events/replay', { filter: { state: 'dead' }, dryrun: true }, 400, 'body_invalid'],
    ['POST', '/events/replay', { filter: { since: 'yesterday' } }, 400, 'body_invalid'],
    ['POST', '/events/replay', undefined, 400, 'body_invalid'],
    ['POST', '/events/replay', 'x'.repeat(70_000), 413, 'body_too_large'],
    ['POST', '/erase', { callId: 'call-1', phoneNumber: '+15550100' }, 400, 'option_invalid'],
    ['POST', '/erase', { phoneNumber: '1'.repeat(60_000) }, 400, 'option_invalid'],
    ['POST', '/erase', { phoneNumber: `+1 555 0100${'('.repeat(60_000)}` }, 400, 'option_invalid'],
  ])('%s %s is reported in the one form', async (method, path, body, status, code) => {
    const { ask } = await inbox();
    expect(await ask(method, path, body)).toMatchObject({
      status,
      json: { error: { code, message: expect.stringMatching(/\w/) } },
    });
  });

  test.each(['/events', '/calls', '/quarantine', '/audit'])(
    'a cursor that %s never gave is refused like any other invalid parameter',
    async (path) => {
      const { ask } = await inbox();
      expect(await ask('GET', `${path}?cursor=x`)).toMatchObject({
        status: 400,
        json: {
          error: {
            code: 'query_invalid',
            message: `The option cursor in GET ${path} should be the cursor of another page, but is "x".`,
          },
        },
      });
    },
  );

  test.each([
    ['GET', '/events?since=1', undefined, /since .* should be a time in ISO 8601, such as .*, but is "1"/],
    ['GET', '/history?step=10', undefined, /step .* should be a duration such as '10m', .*, but is "10"/],
    [
      'GET',
      '/events?limit=0x10',
      undefined,
      /limit .* should be a whole number from 1 to 1000, but is "0x10"/,
    ],
    [
      'POST',
      '/events/replay',
      { filter: { since: 0 } },
      /since .* should be a time in ISO 8601, .*, but is 0/,
    ],
  ] as const)('%s %s is refused with a form that is accepted', async (method, path, body, expected) => {
    const { ask } = await inbox();
    const { status, json } = await ask(method, path, body);
    expect([status, (json as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringMatching(expected),
    ]);
  });

  test('a parameter of a path that has none is refused in a sentence', async () => {
    const { ask } = await inbox();
    expect(await ask('GET', '/counts?state=dead')).toMatchObject({
      status: 400,
      json: { error: { message: 'There is no option state in GET /counts. It has no options.' } },
    });
  });

  test.each(['0x1', '1e0', '01', '%201', '+1', '9'.repeat(20)])(
    'what is no number in decimal digits is the id of nothing: %j',
    async (id) => {
      const { ask } = await inbox();
      for (const [method, path] of [
        ['GET', `/quarantine/${id}`],
        ['GET', `/quarantine/${id}/signature`],
        ['POST', `/quarantine/${id}/release`],
        ['DELETE', `/quarantine/${id}`],
        ['POST', `/audit/${id}/stop`],
      ] as const)
        expect(await ask(method, path, method === 'POST' ? {} : undefined)).toMatchObject({
          status: 404,
          json: { error: { code: 'not_found' } },
        });
      expect(await ask('GET', '/quarantine/1')).toMatchObject({ json: { id: 1 } });
    },
  );

  test('an unknown name of 60 kB is quoted in part', async () => {
    const { ask } = await inbox();
    const { status, json } = await ask('POST', '/erase', { [`callid${'x'.repeat(60_000)}`]: 'call-1' });
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { error: { code: 'body_invalid', message: expect.stringContaining('callidxxx') } },
    });
    expect(JSON.stringify(json).length).toBeLessThan(1_000);
  });

  test('an unsupported method is answered with the supported ones', async () => {
    const { ask } = await inbox();
    expect((await ask('PUT', '/events')).headers.get('allow')).toBe('GET, HEAD');
    expect((await ask('PUT', '/changes')).headers.get('allow')).toBe('GET');
    expect((await ask('GET', '/erase')).headers.get('allow')).toBe('POST');
  });

  test('HEAD is answered as GET, without the body', async () => {
    const { ask } = await inbox();
    for (const path of ['/counts', '/openapi.json', '/events/trace-done']) {
      const [got, head] = [await ask('GET', path), await ask('HEAD', path)];
      expect([head.status, head.json]).toEqual([200, undefined]);
      expect(head.headers.get('etag')).toBe(got.headers.get('etag'));
    }
    expect((await ask('HEAD', '/events/nothing')).status).toBe(404);
    expect((await ask('HEAD', '/changes')).status).toBe(405);
  });
});

describe('mounted', () => {
  const baseOf = async (listener: RequestListener) => `http://127.0.0.1:${await listening(listener)}`;

  const mountings: Readonly<Record<string, (api: Mounted) => Promise<string>>> = {
    'in Express': (api) => baseOf(express().use('/ops/api', api.middleware())),
    'in Express, behind a body parser': (api) =>
      baseOf(express().use(express.json()).use('/ops/api', api.middleware())),
    'in Express, behind a parser of bytes': (api) =>
      baseOf(
        express()
          .use(express.raw({ type: '*/*' }))
          .use('/ops/api', api.middleware()),
      ),
    'in Express, behind a parser of text': (api) =>
      baseOf(
        express()
          .use(express.text({ type: '*/*' }))
          .use('/ops/api', api.middleware()),
      ),
    'in node:http': (api) => baseOf(api.nodeHandler('/ops/api')),
    'in node:http, below a path that ends with a slash': (api) => baseOf(api.nodeHandler('/ops/api/')),
    'in Fastify': async (api) => {
      const app = fastify();
      onTestFinished(() => app.close());
      const handle = api.nodeHandler('/ops/api');
      app.all('/ops/api/*', (request, reply) => {
        reply.hijack();
        handle(Object.assign(request.raw, { body: request.body }), reply.raw);
      });
      return app.listen({ host: '127.0.0.1', port: 0 });
    },
  };

  test.each(['/%C3%B6ps', '/öps', '/the ops'])('below the path %s, it answers', async (prefix) => {
    const { receiver } = await started();
    const base = await baseOf(receiver.api({ authorize: () => 'all' }).nodeHandler(prefix));
    expect((await fetch(`${base}${prefix}/counts`)).status).toBe(200);
  });

  test.each(Object.entries(mountings))('%s, it looks and changes', async (_, mount) => {
    const { receiver } = await inbox();
    const asked: unknown[] = [];
    const api = receiver.api({
      authorize: (request, source) => {
        asked.push([request.headers.get('cookie'), typeof (source as { socket?: unknown }).socket]);
        return 'all';
      },
    });
    const base = `${await mount(api)}/ops/api`;
    const events = await fetch(`${base}/events/${encodeURIComponent('trace-done')}`, {
      headers: { cookie: 'session=1' },
    });
    expect(await events.json()).toMatchObject({ traceId: 'trace-done' });
    expect(asked).toEqual([['session=1', 'object']]);
    const dismissed = await fetch(`${base}/events/dismiss`, {
      method: 'POST',
      headers: change,
      body: JSON.stringify({ filter: { state: 'dead' }, reason: 'done by hand' }),
    });
    expect(await dismissed.json()).toMatchObject({ runs: 1 });
  });

  test('fetch calls authorize with the very Request that it was given', async () => {
    const { receiver } = await inbox();
    const asked: unknown[] = [];
    const authorize: Authorize = (...about) => void asked.push(...about);
    const request = new Request('https://app.example.com/ops/counts');
    expect(await receiver.api({ authorize }).fetch(request, '/ops')).toMatchObject({ status: 403 });
    expect(asked.map((about) => about === request)).toEqual([true, true]);
  });

  test.each<[string, (request: Request) => Promise<unknown>]>([
    ['at once', (request) => request.text()],
    [
      'piece by piece',
      async ({ body }) => {
        for await (const _ of body ?? []);
      },
    ],
  ])('a Request whose body was read %s is reported, and a dry run changes nothing', async (_, read) => {
    const { receiver } = await inbox();
    const body = '{"dryRun":true}';
    const request = new Request('http://localhost/quarantine/reverify', {
      method: 'POST',
      headers: change,
      body,
    });
    await read(request);
    const answer = await receiver.api({ authorize: () => 'all' }).fetch(request);
    expect([answer.status, await answer.json()]).toEqual([
      500,
      { error: { code: 'body_already_parsed', message: expect.stringContaining('read a clone') } },
    ]);
    expect((await receiver.audit.list()).entries).toEqual([]);
  });

  test('a body that the app consumed without keeping it is reported to an authorized caller', async () => {
    const { receiver } = await inbox();
    const authorize: Authorize = ({ headers }) => (headers.has('cookie') ? 'all' : undefined);
    const handle = receiver.api({ authorize }).nodeHandler();
    const base = await baseOf((request, response) => {
      request.resume().once('end', () => handle(request, response));
    });
    const post = async (headers: Record<string, string>, body: string | null) => {
      const request = { method: 'POST', headers: { ...change, ...headers }, body };
      const response = await fetch(`${base}/events/replay`, request);
      return { status: response.status, json: await response.json() };
    };
    expect(await post({ cookie: 'a=1' }, '{"filter":{"state":"dead"}}')).toMatchObject({
      status: 500,
      json: { error: { code: 'body_already_parsed', message: expect.stringContaining('body') } },
    });
    expect((await post({}, '{"filter":{"state":"dead"}}')).status).toBe(403);
    expect((await post({ cookie: 'a=1' }, null)).status).toBe(400);
  });

  test('over HTTP/2, it answers', async () => {
    const { receiver } = await inbox();
    const client = await connectedHttp2(receiver.api({ authorize: () => 'all' }).nodeHandler('/ops'));
    const answered = client.request({ ':path': '/ops/counts', 'x-twice': ['a', 'b'] });
    const [{ ':status': status }] = (await once(answered, 'response')) as [Record<string, unknown>];
    expect(status).toBe(200);
    expect(JSON.parse(await allOf(answered))).toHaveProperty('events');
  });

  test.each([
    ['was read in front, and not kept', '{"reason":"a"}', 500],
    ['is empty', '', 200],
  ])('over HTTP/2, a body that %s', async (_, body, expected) => {
    const { receiver } = await inbox();
    const handle = receiver.api({ authorize: () => 'all' }).nodeHandler();
    const client = await connectedHttp2((request: IncomingMessage, response: ServerResponse) => {
      request.resume().once('end', () => handle(request, response));
    });
    // Without a content-length, which HTTP/2 does not need.
    const asked = client.request(
      {
        ':method': 'POST',
        ':path': '/quarantine/reverify',
        'x-ringback-request': '1',
        'content-type': 'application/json',
      },
      { endStream: body === '' },
    );
    if (body !== '') asked.end(body);
    const [{ ':status': status }] = (await once(asked.resume(), 'response')) as [Record<string, unknown>];
    expect(status).toBe(expected);
  });

  test('over HTTP/2, an origin is compared with the authority', async () => {
    const { receiver } = await inbox();
    const client = await connectedHttp2(receiver.api({ authorize: () => 'all' }).nodeHandler());
    const statusFrom = async (origin: string) => {
      const asked = client.request(
        {
          ':method': 'POST',
          ':path': '/handlers/crm/pause',
          ':authority': 'ops.example.com',
          'x-ringback-request': '1',
          origin,
        },
        { endStream: true },
      );
      const [{ ':status': status }] = (await once(asked.resume(), 'response')) as [Record<string, unknown>];
      return status;
    };
    expect(await statusFrom('https://ops.example.com')).toBe(200);
    expect(await statusFrom('https://evil.example')).toBe(403);
  });

  test.each(['get', 'delete'])(
    'over HTTP/2, the method %s is none: who guards methods in front of us has seen another one',
    async (method) => {
      const { receiver } = await inbox();
      const client = await connectedHttp2(receiver.api({ authorize: () => 'all' }).nodeHandler());
      const headers = { ':path': '/quarantine/1', 'x-ringback-request': '1' };
      const asked = client.request({ ':method': method, ...headers });
      const status = Promise.withResolvers<unknown>();
      asked.once('response', ({ ':status': answered }) => status.resolve(answered));
      asked.once('close', () => status.resolve('no answer')).resume();
      expect(await status.promise).toBe(400);
      expect((await receiver.counts()).quarantine.notAuthentic).toBe(1);
    },
  );

  test('an unread body does not block the next request on its connection', async () => {
    const { receiver } = await inbox();
    const api = receiver.api({ authorize: ({ method }) => (method === 'GET' ? 'read' : undefined) });
    const socket = await connected(await baseOf(api.nodeHandler('/ops')));
    const size = 300_000;
    socket.write(`POST /ops/erase HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n${'a'.repeat(size)}`);
    socket.write('GET /ops/counts HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect((await allOf(socket)).match(/^HTTP\/1.1 \d+/gm)).toEqual(['HTTP/1.1 403', 'HTTP/1.1 200']);
  });

  test('an upload without end is answered, and its connection closed', { tags: 'long' }, async () => {
    const { receiver } = await inbox();
    const port = await listening(receiver.api({ authorize: () => undefined }).nodeHandler());
    const endless = 'POST /erase HTTP/1.1\r\nhost: x\r\ncontent-length: 100000000\r\n\r\n';
    expect(await uploadedWithoutEnd(port, endless)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('a client that disconnects in the middle of a body is not logged as a failure', async () => {
    const { receiver, logs } = await inbox();
    const gone = Promise.withResolvers<void>();
    const api = receiver.api({ authorize: () => 'all' });
    const handle = api.nodeHandler();
    const base = await baseOf((request, response) => {
      response.once('close', () => gone.resolve());
      request.once('readable', () => socket.destroy());
      handle(request, response);
    });
    const socket = await connected(base);
    socket.write(
      'POST /erase HTTP/1.1\r\nhost: x\r\nx-ringback-request: 1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    );
    await gone.promise;
    // What had been begun before is over when this is answered.
    await fetch(`${base}/counts`);
    expect(logs.of('api_failed')).toEqual([]);
  });

  test('a search ends when its client disconnects, and is not logged as a failure', async () => {
    const { receiver, logs, begun } = await searching();
    const base = await baseOf(receiver.api({ authorize: () => 'all' }).nodeHandler());
    const socket = await connected(base);
    socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n');
    const signal = await begun;
    socket.destroy();
    await expect.poll(() => signal.aborted).toBe(true);
    await fetch(`${base}/counts`);
    expect(logs.of('api_failed')).toEqual([]);
  });

  test.each([
    ['/events/replay', { filter: { since: '2020-01-01' } }],
    ['/events/dismiss', { filter: { state: 'dead' }, reason: 'x' }],
    ['/erase', { phoneNumber: '+4930123456' }],
  ])('a dry run of %s ends when its client disconnects', async (path, body) => {
    const gone = new AbortController();
    let looks = 0;
    // An inbox without an end: without its signal, the dry run would never be over.
    const endless: Readonly<Record<string, (...given: unknown[]) => unknown>> = {
      'events.lastSequence': () => Infinity,
      'events.stretch': (_filter, after) => ({ events: [], reached: Number(after) + 1 }),
      'retention.look': (_where, after) => ({ found: [], next: Number(after) + 1 }),
    };
    const database = storeAround(':memory:', systemClock, (method) => {
      const look = endless[method];
      return (
        look &&
        (async (...given) => {
          looks += 1;
          if (looks === 10) gone.abort();
          await turn();
          return look(...given);
        })
      );
    });
    const { receiver, logs } = await started({ database });
    const api = receiver.api({ authorize: () => 'all' });
    const init = { method: 'POST', headers: change, body: JSON.stringify({ ...body, dryRun: true }) };
    await api.fetch(new Request(`http://localhost${path}`, { ...init, signal: gone.signal }));
    expect(looks).toBe(10);
    expect(logs.of('api_failed')).toEqual([]);
  });

  test.each<[string, (client: ClientHttp2Session, search: ClientHttp2Stream) => void]>([
    ['stream', (_client, search) => search.close(constants.NGHTTP2_CANCEL)],
    ['connection', (client) => client.destroy()],
  ])('over HTTP/2, a search ends with its %s', async (_what, leave) => {
    const { receiver, logs, begun } = await searching();
    const client = await connectedHttp2(receiver.api({ authorize: () => 'all' }).nodeHandler());
    const search = client.request({ ':path': '/events' });
    const signal = await begun;
    leave(client, search);
    await expect.poll(() => signal.aborted).toBe(true);
    expect(logs.of('api_failed')).toEqual([]);
  });

  test.each<[string, (handler: RequestListener) => Promise<{ ask(): unknown; leave(): unknown }>]>([
    [
      'HTTP/1.1',
      async (handler) => {
        const socket = await connected(await baseOf(handler));
        const ask = () => socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n');
        return { ask, leave: () => socket.destroy() };
      },
    ],
    [
      'HTTP/2',
      async (handler) => {
        const client = await connectedHttp2(handler);
        return { ask: () => client.request({ ':path': '/events' }), leave: () => client.destroy() };
      },
    ],
  ])('over %s, a search does not begin for whoever has gone before the API is asked', async (_, clientOf) => {
    let isSearched = false;
    const database = storeAround(':memory:', systemClock, (method, work) =>
      method === 'events.list'
        ? (filter, page) => {
            isSearched = true;
            return work(filter, page);
          }
        : undefined,
    );
    const { receiver } = await started({ database });
    const handle = receiver.api({ authorize: () => 'all' }).nodeHandler();
    const ended = Promise.withResolvers<void>();
    const client = await clientOf((request, response) => {
      response.once('close', () =>
        setImmediate(() => {
          handle(request, response);
          ended.resolve();
        }),
      );
      client.leave();
    });
    client.ask();
    await ended.promise;
    // What had been begun before is over when this is answered.
    await receiver.api({ authorize: () => 'all' }).fetch(new Request('http://localhost/counts'));
    expect(isSearched).toBe(false);
  });

  test('four searches go on at once, a hundred wait, more are refused, and a stop waits for none', async () => {
    let begun = 0;
    const database = storeAround(':memory:', systemClock, (method, work) =>
      method === 'events.list'
        ? async (filter, page) => {
            begun += 1;
            await once((page as { readonly signal: AbortSignal }).signal, 'abort');
            return work(filter, page);
          }
        : undefined,
    );
    const { receiver } = await started({ database });
    const api = receiver.api({ authorize: () => 'all' });
    const clients = Array.from({ length: 104 }, () => new AbortController());
    const ask = (path: string, init: RequestInit = {}) =>
      api.fetch(new Request(`http://localhost${path}`, init));
    const searches = clients.map(({ signal }) => ask('/events', { signal }));
    await expect.poll(() => begun).toBe(4);
    const refused = await ask('/calls');
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: { code: 'too_many_searches', message: expect.stringContaining('At most 100 ') } },
    ]);
    expect((await ask('/audit/1/stop', { method: 'POST', headers: change, body: '{}' })).status).toBe(200);
    expect(await deliver(receiver)).toMatchObject({ status: 200 });
    expect(begun).toBe(4);
    // One that still waited when its client left is not begun.
    clients[4]?.abort();
    clients[0]?.abort();
    await expect.poll(() => begun).toBe(5);
    for (const client of clients.slice(1)) client.abort();
    await Promise.all(searches);
    expect(begun).toBe(5);
    expect((await ask('/calls')).status).toBe(200);
  });

  test('what reads much is bounded, too, and waits for no search', async () => {
    let begun = 0;
    const gate = Promise.withResolvers<undefined>();
    onTestFinished(() => gate.resolve(undefined));
    const database = storeAround(':memory:', systemClock, (method, work) =>
      ['history.list', 'failures.groups', 'quarantine.list'].includes(method)
        ? async (...asked) => {
            begun += 1;
            await gate.promise;
            return work(...asked);
          }
        : undefined,
    );
    const { receiver } = await started({ database });
    const api = receiver.api({ authorize: () => 'all' });
    const ask = (path: string) => api.fetch(new Request(`http://localhost${path}`));
    const paths = ['/history', '/handlers/crm/history', '/failures', '/quarantine'];
    const reads = Array.from({ length: 104 }, (_, index) => ask(paths[index % paths.length] ?? ''));
    await expect.poll(() => begun).toBe(4);
    for (const path of paths) expect((await ask(path)).status).toBe(503);
    expect((await ask('/events')).status).toBe(200);
    gate.resolve(undefined);
    expect(new Set((await Promise.all(reads)).map(({ status }) => status))).toEqual(new Set([200]));
    expect((await ask('/history')).status).toBe(200);
  });

  test('ten replays and dismissals are in progress at once, and no more are begun', async () => {
    const { database, ask } = await inbox();
    await withStore(database, async (store) => {
      for (let begun = 0; begun < 10; begun += 1) await beginElsewhere(store, 'replay');
    });
    const filter = { state: 'dead' };
    for (const [path, more] of [
      ['/events/replay', {}],
      ['/events/dismiss', { reason: 'x' }],
    ] as const) {
      expect(await ask('POST', path, { filter, ...more })).toMatchObject({
        status: 503,
        json: { error: { code: 'too_many_running' } },
      });
      expect(await ask('POST', path, { filter, ...more, dryRun: true })).toMatchObject({ status: 200 });
    }
    expect(await ask('POST', '/audit/1/stop')).toMatchObject({ status: 200 });
    expect(await ask('POST', '/events/dismiss', { filter, reason: 'x' })).toMatchObject({ status: 200 });
  });

  test('whoever asks a receiver that does not run is told so, and not which methods to call', async () => {
    const ask = asking(made().receiver.api({ authorize: () => 'all' }));
    for (const path of ['/events', '/counts', '/changes'])
      expect(await ask('GET', path)).toMatchObject({
        status: 503,
        json: {
          error: {
            code: 'receiver_not_started',
            message: expect.stringMatching(/^The receiver does not run/),
          },
        },
      });
  });

  test('a stop during a replay is answered with where the replay continues, not as a failure', async () => {
    const { receiver, logs, ask } = await inbox();
    const replay = ask('POST', '/events/replay', { filter: { since: '2020-01-01' }, rate: 0.01 });
    await expect.poll(() => receiver.audit.running()).toHaveLength(1);
    await receiver.stop();
    expect(await replay).toMatchObject({
      status: 503,
      json: { error: { code: 'bulk_action_left', message: expect.stringContaining('It continues when') } },
    });
    expect(logs.of('api_failed')).toEqual([]);
  });

  test.each(['replay', 'dismiss'])(
    'a %s that the database interrupts is answered as begun, because it continues',
    async (action) => {
      let isDown = false;
      const interrupted = new Set(['events.requeue', 'events.dismiss', 'audit.get']);
      const database = storeAround(':memory:', systemClock, (method, work) =>
        interrupted.has(method)
          ? (...given) =>
              isDown
                ? Promise.reject(ringbackError('database_unreachable', { database: 'it', cause: 'gone' }))
                : work(...given)
          : undefined,
      );
      const { receiver, logs } = await started({ database }, (r) =>
        r.on('*', { name: 'crm', retry: { attempts: 1 } }, () =>
          Promise.reject(new Error('the CRM is down')),
        ),
      );
      await deliver(receiver);
      await logs.until('run_dead');
      isDown = true;
      const ask = asking(receiver.api({ authorize: () => 'all' }));
      const body = { filter: { state: 'dead' }, reason: 'x' };
      expect(await ask('POST', `/events/${action}`, body)).toMatchObject({
        status: 200,
        json: { id: 1, state: 'running' },
      });
      expect(await receiver.audit.running()).toMatchObject([{ id: 1, action }]);
    },
  );

  test('whoever may begin it may stop it, and nobody else', async () => {
    let allowed: 'look' | 'replay' | 'dismiss' = 'look';
    const { database, ask } = await inbox(() => [allowed]);
    await withStore(database, async (store) => {
      for (const action of ['replay', 'dismiss'] as const) await beginElsewhere(store, action);
    });
    const answers: unknown[] = [];
    for (allowed of ['look', 'replay', 'dismiss'] as const)
      for (const id of [1, 2, 3]) {
        const { status, json } = await ask('POST', `/audit/${id}/stop`);
        answers.push([allowed, id, status === 200 ? (json as { stopped: boolean }).stopped : status]);
      }
    expect(answers).toEqual([
      ['look', 1, 403],
      ['look', 2, 403],
      ['look', 3, 403],
      ['replay', 1, true],
      ['replay', 2, 403],
      // Nothing has this id.
      ['replay', 3, false],
      ['dismiss', 1, 403],
      ['dismiss', 2, true],
      // That is the entry of the first stop.
      ['dismiss', 3, false],
    ]);
  });

  test('an internal failure is logged even if its client has disconnected', async () => {
    const gone = new AbortController();
    const database = storeAround(':memory:', systemClock, (method) =>
      method === 'events.list'
        ? () => {
            gone.abort();
            return Promise.reject(new Error('the index is malformed'));
          }
        : undefined,
    );
    const { receiver, logs } = await started({ database });
    const api = receiver.api({ authorize: () => 'all' });
    await api.fetch(new Request('http://localhost/events', { signal: gone.signal }));
    expect(logs.of('api_failed')).toHaveLength(1);
  });

  test.each([
    ['GET', '/ops/x/../counts', 400],
    ['GET', '/ops/%2E%2e/ops/counts', 400],
    ['GET', '//ops/ops/counts', 400],
    ['GET', '/ops\\counts', 400],
    ['GET', '/ops/counts#', 400],
    ['GET', 'http://x/ops/counts', 400],
    ['GET', 'http://[/', 400],
    ['TRACE', '/ops/counts', 400],
    ['GET', '/counts', 404],
    ['GET', '/opsx/counts', 404],
    ['GET', '/ops/events/..%2Fcounts', 404],
  ])(
    '%s %s reaches nothing, as a guard of the path /ops could not have seen it',
    async (method, target, status) => {
      const { receiver } = await inbox();
      const api = receiver.api({ authorize: () => 'all' });
      const socket = await connected(await baseOf(api.nodeHandler('/ops')));
      socket.write(`${method} ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      const answer = await allOf(socket);
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      // Also what is answered before the API is reached has the one form.
      expect(answer).toMatch(/\{"error":\{"code":"\w+","message":"\w.*"\}\}/);
    },
  );
});

/** A receiver in which a search for events lasts until its signal is aborted, and the signal of the first one. */
async function searching() {
  const begun = Promise.withResolvers<AbortSignal>();
  const database = storeAround(':memory:', systemClock, (method, work) =>
    method === 'events.list'
      ? async (filter, page) => {
          const { signal } = page as { readonly signal: AbortSignal };
          begun.resolve(signal);
          await once(signal, 'abort');
          return work(filter, page);
        }
      : undefined,
  );
  return { ...(await started({ database })), begun: begun.promise };
}

async function connected(base: string): Promise<Socket> {
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}
