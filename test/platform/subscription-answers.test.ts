/** What the client makes of subscriptions whose values the platform's document leaves open. */
import { expect, it, test } from 'vitest';
import { answered, clientOf, everything, standIn } from './support.ts';

const read = async (stored: object) => {
  const { url } = await standIn({ json: stored });
  return clientOf(url).platform.subscriptions.get('sub_1');
};

it('keeps a retry strategy, and further fields of the policy, that the document does not show', async () => {
  const retryPolicy = {
    retryStrategy: 'BACKOFF',
    maxRetryAttempts: 9,
    maxRetryDelayMs: 600_000,
    jitter: 0.5,
  };
  expect(await read({ ...answered, retry_policy: retryPolicy })).toMatchObject({ retry_policy: retryPolicy });
});

it('takes any bounds of attempts: the document shows none', async () => {
  const bounds = {
    request_timeout_ms: 1,
    retry_policy: { retryStrategy: 'FIXED_DELAY', maxRetryAttempts: 0, maxRetryDelayMs: 0 },
  };
  expect(await read({ ...answered, ...bounds })).toMatchObject(bounds);
});

test.each([
  ['retryStrategy', 7],
  ['maxRetryAttempts', '3'],
  ['maxRetryDelayMs', null],
])('an answer whose retry_policy has %s of another type is not taken for one', async (field, wrong) => {
  const stored = { ...answered, retry_policy: { ...answered.retry_policy, [field]: wrong } };
  await expect(read(stored)).rejects.toMatchObject({
    code: 'unexpected_answer',
    details: [{ path: `retry_policy.${field}`, problem: expect.any(String) }],
  });
});

test.each([
  ['absent', undefined],
  ['null', null],
])('events that are %s are all events, and hide no other subscription', async (_, events) => {
  const bare = { ...answered, id: 'sub_2', name: 'other', events };
  const { url } = await standIn({ json: { data: [bare, answered], next_page_token: null } });
  const listed = await everything(clientOf(url).platform.subscriptions.list());
  expect(listed.map((subscription) => subscription.events)).toEqual([[], ['*']]);
});

test.each(['headers', 'description', 'agent_ids', 'workspace_ids'])('%s may be absent', async (field) => {
  expect(await read(answered)).not.toHaveProperty(field);
});
