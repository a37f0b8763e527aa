/** The fields of the platform's answers, as its document has them: another type is an error that names the field. */
import { describe, expect, test } from 'vitest';
import { answered, clientOf, kb, platformError, standIn } from './support.ts';

type Platform = ReturnType<typeof clientOf>['platform'];

/** The details of the error for an answer that is not as it should be. */
async function problemsWith(json: object, call: (platform: Platform) => Promise<unknown>) {
  const { url } = await standIn({ json });
  const { code, details } = await platformError(call(clientOf(url).platform));
  return { code, places: (details as readonly { readonly path: string }[]).map(({ path }) => path) };
}

const unexpected = (field: string) => ({ code: 'unexpected_answer', places: [field] });

describe('a knowledge base with another type of', () => {
  test.each([
    ['id', 7],
    ['name', null],
    ['description', 7],
    ['document_language', 7],
    ['document_count', '3'],
    ['chunking_strategy', 7],
    ['vector_backend', 7],
    ['embedding_model', 7],
    ['chunk_size', '512'],
    ['chunk_overlap', '50'],
    ['assistant_persona', 7],
    ['status', 7],
    ['workspace_id', 7],
    ['organization_id', 7],
    ['user_id', 7],
    ['created_at', 0],
    ['updated_at', 0],
  ])('%s', async (field, wrong) => {
    const json = { ...kb, [field]: wrong };
    expect(await problemsWith(json, ({ knowledgeBases }) => knowledgeBases.get('kb_1'))).toEqual(
      unexpected(field),
    );
  });
});

describe('a subscription with another type of', () => {
  test.each([
    ['id', 7],
    ['organization_id', 7],
    ['scope', 7],
    ['created_user_id', 7],
    ['name', 7],
    ['url', null],
    ['events', '*'],
    ['active', 'true'],
    ['headers', []],
    ['description', 7],
    ['agent_ids', 'agent_1'],
    ['workspace_ids', 'workspace_1'],
    ['request_timeout_ms', '1000'],
    ['retry_policy', 'FIXED_DELAY'],
    ['signing_enabled', undefined],
    ['created_at', 0],
    ['updated_at', 0],
  ])('%s', async (field, wrong) => {
    const json = { ...answered, [field]: wrong };
    expect(await problemsWith(json, ({ subscriptions }) => subscriptions.get('sub_1'))).toEqual(
      unexpected(field),
    );
  });
});

describe('a tool with another type of', () => {
  test.each([
    ['tool_id', 7],
    ['openai_tool', 'now'],
    ['additional_tool_info', []],
    ['created_at', 0],
    ['updated_at', 0],
  ])('%s', async (field, wrong) => {
    const json = { tool_id: 'now', [field]: wrong };
    expect(await problemsWith(json, ({ customTools }) => customTools.get('agent_1', 'now'))).toEqual(
      unexpected(field),
    );
  });
});

test.each(['user_id', 'prompt_id', 'prompt'])('a prompt with another type of %s', async (field) => {
  const json = { user_id: 'user_1', prompt_id: 'prompt_1', prompt: 'x', [field]: 7 };
  expect(await problemsWith(json, ({ prompts }) => prompts.generate({ raw_prompt: 'a' }))).toEqual(
    unexpected(field),
  );
});

test.each([
  ['success', 'yes', 'success'],
  ['links', 'https://www.example.com', 'links'],
  ['links', [7], 'links.0'],
])('found links with another type of %s: %j', async (field, wrong, place) => {
  const json = { success: true, links: [], [field]: wrong };
  expect(await problemsWith(json, ({ websites }) => websites.sitemaps('https://www.example.com'))).toEqual(
    unexpected(place),
  );
});
