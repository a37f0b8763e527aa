import { openAsBlob, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { createPlatform } from '../../src/platform/index.ts';
import { ManualClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { type Scripted, apiKey, clientOf, platformError, reset, standIn } from './support.ts';

const document = (status?: string | null) => ({ document_id: 'doc_1', status });
const completed = { ...document('completed'), chunk_count: 3, shelf: 7 };
const file = { name: 'prices.md', content: '# Prices' };
const fresh = { document_id: 'doc_2', status: 'queued', shelf: 7 };
const gone: Scripted = { status: 204 };

describe('documents.completed', () => {
  it('waits for as long as the document has any other status', async () => {
    const { url, received } = await standIn(
      { json: document('queued') },
      { json: document('processing') },
      { json: document('something new') },
      { json: document() },
      { json: document(null) },
      { json: completed },
    );
    const { platform, waits } = clientOf(url);
    expect(await platform.documents.completed('kb_1', 'doc_1')).toEqual(completed);
    expect(waits).toEqual(Array(5).fill(2_000));
    expect(new Set(received.map((request) => `${request.method} ${request.url}`))).toEqual(
      new Set(['GET /api/v1/knowledge-bases/kb_1/documents/doc_1']),
    );
  });

  it('waits ten minutes by default, and no longer', { tags: 'long' }, async () => {
    const { url, received } = await standIn({ json: document('processing') });
    const { platform, waits } = clientOf(url);
    expect(await platformError(platform.documents.completed('kb_1', 'doc_1'))).toMatchObject({
      operation: 'documents.completed',
      code: 'not_ready',
      status: 200,
      message: expect.stringMatching(
        /the document doc_1 completed, but its status was "processing" until the timeout\./,
      ),
    });
    expect(waits.reduce((sum, ms) => sum + ms)).toBe(600_000);
    expect(received).toHaveLength(301);
  });

  it.each<[object, number[]]>([
    [{ timeout: '5s' }, [2_000, 2_000, 1_000]],
    [{ timeout: '1m', interval: '40s' }, [40_000, 20_000]],
    [{ timeout: 0 }, []],
  ])('takes as long as it is told: %j', async (options, expected) => {
    const { url } = await standIn({ json: document('queued') });
    const { platform, waits } = clientOf(url);
    const { code } = await platformError(platform.documents.completed('kb_1', 'doc_1', options));
    expect(code).toBe('not_ready');
    expect(waits).toEqual(expected);
  });

  it.each([
    [
      'with a code and a sentence',
      { code: 'no_text', message: 'There is no text in it.' },
      ': no_text, There is no text in it.',
    ],
    ['with a sentence', 'There is no text in it.', ': There is no text in it.'],
    ['without a reason', null, '.'],
  ])('ends when the document has failed, %s', async (_, error, reason) => {
    const { url, received } = await standIn(
      { json: document('processing') },
      { json: { ...document('failed'), error } },
    );
    const failure = await platformError(clientOf(url).platform.documents.completed('kb_1', 'doc_1'));
    expect(failure).toMatchObject({ code: 'ingestion_failed', status: 200, details: error });
    expect(failure.message).toContain(`the document doc_1 completed, but it has failed${reason} Correct`);
    expect(received).toHaveLength(2);
  });

  it('ends when there is no such document', async () => {
    const { url, received } = await standIn({ status: 404, json: { error: 'not_found', message: 'None' } });
    expect(await platformError(clientOf(url).platform.documents.completed('kb_1', 'doc_1'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect(received).toHaveLength(1);
  });

  it('outlasts a database failure that takes longer than the attempts of a request', async () => {
    const { url, received } = await standIn(
      ...Array.from({ length: 9 }, () => ({ status: 503, json: { error: 'db', message: 'down' } })),
      { json: completed },
    );
    expect(await clientOf(url).platform.documents.completed('kb_1', 'doc_1')).toEqual(completed);
    expect(received).toHaveLength(10);
  });

  it('rejects with a database failure that lasts', async () => {
    const { url } = await standIn({ status: 503, json: { error: 'db', message: 'down' } });
    const waiting = clientOf(url).platform.documents.completed('kb_1', 'doc_1', { timeout: '10s' });
    expect(await platformError(waiting)).toMatchObject({ status: 503, code: 'db' });
  });

  it('does not ask again before the platform wants to be asked', async () => {
    const refusal = {
      status: 429,
      headers: { 'retry-after': '45' },
      json: { error: 'rate', message: 'slow' },
    };
    const { url, received } = await standIn(refusal, { json: completed });
    const { platform, waits } = clientOf(url);
    expect(await platform.documents.completed('kb_1', 'doc_1')).toEqual(completed);
    expect(waits).toEqual([45_000]);
    expect(received).toHaveLength(2);
  });

  it('ends at once when the platform wants to be asked after its deadline', async () => {
    const refusal = {
      status: 429,
      headers: { 'retry-after': '45' },
      json: { error: 'rate', message: 'slow' },
    };
    const { url } = await standIn(refusal);
    const { platform, waits } = clientOf(url);
    const error = await platformError(platform.documents.completed('kb_1', 'doc_1', { timeout: '40s' }));
    expect(error).toMatchObject({ code: 'rate', retryAfter: 45_000 });
    expect(waits).toEqual([]);
  });

  it('asks once with a timeout of 0, and makes no attempts that would begin after its deadline', async () => {
    const { url, received } = await standIn({ status: 503, json: { error: 'db', message: 'down' } });
    const { platform, waits } = clientOf(url);
    await platformError(platform.documents.completed('kb_1', 'doc_1', { timeout: 0 }));
    expect(received).toHaveLength(1);
    // The second attempt after half of 500 ms; the third would begin 500 ms later. The last is asked for at the deadline.
    await platformError(platform.documents.completed('kb_1', 'doc_1', { timeout: '700ms' }));
    expect(waits).toEqual([250, 450]);
  });

  it('ends when its signal is aborted while it waits', async () => {
    const clock = new ManualClock();
    const { url, received } = await standIn({ json: document('queued') });
    const platform = createPlatform({ baseUrl: url, apiKey, clock });
    const controller = new AbortController();
    const { signal } = controller;
    const ended = expect(platform.documents.completed('kb_1', 'doc_1', { signal })).rejects.toThrow('enough');
    await clock.timer(2_000);
    controller.abort(new Error('enough'));
    await ended;
    expect(received).toHaveLength(1);
  });

  it('ends when its signal is aborted while it asks', async () => {
    const controller = new AbortController();
    const { url } = await standIn(() => controller.abort(new Error('enough')));
    const { signal } = controller;
    await expect(clientOf(url).platform.documents.completed('kb_1', 'doc_1', { signal })).rejects.toThrow(
      'enough',
    );
  });

  it.each([{ timeout: 'soon' }, { interval: -1 }, { timout: '1m' }])('refuses %j', async (options) => {
    const { platform } = clientOf('http://127.0.0.1:1');
    await expect(platform.documents.completed('kb_1', 'doc_1', options as object)).rejects.toMatchObject({
      name: 'ConfigError',
    });
  });
});

describe('documents.refresh', () => {
  it.each([
    ['a file', file, '/documents/file'],
    ['pages', ['https://www.example.com'], '/documents/website'],
  ])('deletes the document and submits %s', async (_, submission, path) => {
    const { url, received } = await standIn(gone, { status: 202, json: fresh });
    expect(await clientOf(url).platform.documents.refresh('kb_1', 'doc_1', submission)).toEqual(fresh);
    expect(received.map((request) => `${request.method} ${request.url}`)).toEqual([
      'DELETE /api/v1/knowledge-bases/kb_1/documents/doc_1',
      `POST /api/v1/knowledge-bases/kb_1${path}`,
    ]);
  });

  it.each<[string, Scripted]>([
    ['there is none', { status: 404, json: { error: 'not_found', message: 'None' } }],
    ['the database fails', { status: 503, json: {} }],
  ])('submits nothing if nothing is deleted, because %s', async (_, answer) => {
    const { url, received } = await standIn(answer);
    const error = await platformError(clientOf(url).platform.documents.refresh('kb_1', 'doc_1', file));
    expect(error).toMatchObject({ operation: 'documents.refresh', status: answer.status });
    expect(error.code).not.toBe('not_resubmitted');
    expect(received.every(({ method }) => method === 'DELETE')).toBe(true);
  });

  it.each([
    ['a file', file, 'documents.upload'],
    ['pages', ['https://www.example.com'], 'documents.crawl'],
  ])('says what to do if nobody knows whether it is deleted, for %s', async (_, submission, by) => {
    const { url, received } = await standIn(reset);
    const error = await platformError(clientOf(url).platform.documents.refresh('kb_1', 'doc_1', submission));
    expect(error.message).toContain(
      `Check with documents.get: if it is there, refresh it again; otherwise submit it with ${by}.`,
    );
    expect(received).toHaveLength(1);
  });

  it('says that the old document is gone if the new one is refused, and what to do', async () => {
    const { url } = await standIn(gone, {
      status: 415,
      headers: { 'x-request-id': 'req-7' },
      json: { error: 'unsupported_type', message: 'Not this one' },
    });
    const error = await platformError(clientOf(url).platform.documents.refresh('kb_1', 'doc_1', file));
    expect(error).toMatchObject({
      operation: 'documents.refresh',
      code: 'not_resubmitted',
      status: 415,
      requestId: 'req-7',
      cause: expect.objectContaining({ name: 'PlatformError', code: 'unsupported_type' }),
    });
    expect(error.message).toMatch(
      /^documents\.refresh should replace the document doc_1, but deleted it and then failed .* no longer find either\. .*\(unsupported_type\): Not this one\. Submit the new one again with documents\.upload\.$/,
    );
  });

  it('says to check the list if the submission may have succeeded', async () => {
    const { url, received } = await standIn(gone, reset);
    const error = await platformError(
      clientOf(url).platform.documents.refresh('kb_1', 'doc_1', ['https://www.example.com']),
    );
    expect(error).toMatchObject({ code: 'not_resubmitted' });
    expect(error.message).toContain('Check with documents.list before you submit it again');
    expect(error.message).toMatch(/Submit the new one again with documents\.crawl\.$/);
    expect(received).toHaveLength(2);
  });

  it('retries a database failure between deletion and submission', async () => {
    const refusal = { status: 503, headers: { 'retry-after': '1' }, json: {} };
    const { url } = await standIn(gone, refusal, { status: 202, json: fresh });
    expect(await clientOf(url).platform.documents.refresh('kb_1', 'doc_1', file)).toEqual(fresh);
  });

  it.each([
    ['a file without a name', { ...file, name: '' }],
    ['an address that is none', ['example']],
    ['no addresses', []],
  ])('deletes nothing for %s', async (_, submission) => {
    const { url, received } = await standIn(gone);
    await expect(clientOf(url).platform.documents.refresh('kb_1', 'doc_1', submission)).rejects.toMatchObject(
      { name: 'ConfigError' },
    );
    expect(received).toEqual([]);
  });

  it('deletes nothing for a file that can not be read', async () => {
    const { url, received } = await standIn(gone);
    const path = join(temporaryFolder(), 'prices.md');
    writeFileSync(path, '# Prices');
    const unreadable = await openAsBlob(path);
    writeFileSync(path, '# Prices of next year');
    await expect(
      clientOf(url).platform.documents.refresh('kb_1', 'doc_1', { name: 'a', content: unreadable }),
    ).rejects.toThrow('could not be read');
    expect(received).toEqual([]);
  });

  test('its signal ends it before anything is sent', async () => {
    const { url, received } = await standIn(gone);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(clientOf(url).platform.documents.refresh('kb_1', 'doc_1', file, { signal })).rejects.toThrow(
      'enough',
    );
    expect(received).toEqual([]);
  });

  test('its signal does not leave it half done', async () => {
    const controller = new AbortController();
    const { url } = await standIn(
      (response) => {
        controller.abort(new Error('enough'));
        response.writeHead(204).end();
      },
      { status: 202, json: fresh },
    );
    const { signal } = controller;
    expect(await clientOf(url).platform.documents.refresh('kb_1', 'doc_1', file, { signal })).toEqual(fresh);
  });
});
