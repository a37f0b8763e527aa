import { describe, expect, it } from 'vitest';
import type { FailureOptions, Sandbox } from '../../src/sandbox/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { ask, startedSandbox, subscription, subscriptionPath } from './support.ts';

describe('failures of a kind that was asked for', () => {
  it('have another status and Retry-After, in the form of the operation', async () => {
    const sandbox = await startedSandbox();
    sandbox.fail('knowledge-bases', 1, { status: 429, retryAfter: 2 });
    sandbox.fail('subscriptions', 1, { status: 500 });
    const busy = await ask(sandbox, 'GET /api/v1/knowledge-bases/kb_demonstration');
    expect([busy.status, busy.headers.get('retry-after'), busy.json]).toMatchObject([
      429,
      '2',
      { error: 'too_many_requests' },
    ]);
    const broken = await ask(sandbox, 'GET /v1/public/webhook/subscriptions?page_size=1');
    expect([broken.status, broken.headers.get('retry-after'), broken.json]).toMatchObject([
      500,
      null,
      { status: 500, type: 'INTERNAL_ERROR' },
    ]);
  });

  it('cut the connection, and nothing is carried out', async () => {
    const sandbox = await startedSandbox();
    sandbox.fail('subscriptions.create', 1, { cut: true });
    const create = () => ask(sandbox, `POST ${subscriptionPath}`, { body: subscription });
    await expect(create()).rejects.toThrow('fetch failed');
    expect((await create()).status).toBe(201);
  });

  it('are answered late, while the operation is carried out at once', async () => {
    const clock = manualClock();
    const sandbox = await startedSandbox({ clock, speed: 1_000 });
    sandbox.fail('subscriptions.create', 1, { delay: '15s' });
    let answered = false;
    const late = ask(sandbox, `POST ${subscriptionPath}`, { body: subscription }).finally(() => {
      answered = true;
    });
    await created(sandbox);
    clock.advance('14s');
    await created(sandbox);
    expect(answered).toBe(false);
    clock.advance('1s');
    expect((await late).status).toBe(201);
  });

  it('are answered when the sandbox stops', async () => {
    const sandbox = await startedSandbox();
    sandbox.fail('subscriptions.create', 1, { delay: '1h' });
    const late = ask(sandbox, `POST ${subscriptionPath}`, { body: subscription });
    await created(sandbox);
    await sandbox.stop();
    expect((await late).status).toBe(201);
  });

  it.each<[unknown, RegExp]>([
    [{ status: 418 }, /status in sandbox\.fail should be 429, 500 or 503/],
    [{ status: 429, retryAfter: -1 }, /retryAfter in sandbox\.fail should be a whole number of seconds/],
    [{ cut: false }, /cut in sandbox\.fail should be true/],
    [{ delay: 'long' }, /delay in sandbox\.fail should be milliseconds or a duration/],
    [{ late: '5s' }, /late.*delay/],
    [{ cut: true, delay: '5s' }, /should be a status.*cut with delay/],
  ])('of a kind that there is not are a mistake: %j', async (how, sentence) => {
    const sandbox = await startedSandbox();
    expect(() => sandbox.fail('knowledge-bases', 1, how as FailureOptions)).toThrow(sentence);
    const body = { operation: 'knowledge-bases', count: 1, how };
    expect(await ask(sandbox, 'POST /sandbox/failures', { body })).toMatchObject({ status: 422 });
  });
});

/** Resolves when the sandbox has one subscription. */
async function created(sandbox: Sandbox): Promise<void> {
  const line = 'GET /v1/public/webhook/subscriptions?page_size=1';
  await expect.poll(async () => (await ask(sandbox, line)).json).toMatchObject({ total_count: 1 });
}
