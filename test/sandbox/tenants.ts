/** A sandbox with two organizations that have agents and knowledge bases. */
import type { Sandbox, SandboxOptions, Seed } from '../../src/sandbox/index.ts';
import { type Answer, type RequestParts, ask as askAny, startedSandbox as startedAny } from './support.ts';

/** The keys of three users: Ada and Ben are of one organization, Cleo of another. */
export const keys = { ada: 'key_of_ada', ben: 'key_of_ben', cleo: 'key_of_cleo' } as const;

/** Two organizations; each has an agent, and the first has knowledge bases. */
export const twoTenants: Seed = {
  organizations: [
    {
      id: 'org_1',
      name: 'One',
      users: [
        { id: 'user_ada', name: 'Ada', keys: [keys.ada] },
        { id: 'user_ben', name: 'Ben', keys: [keys.ben] },
      ],
      workspaces: [{ id: 'workspace_1', name: 'Sales' }],
      agents: [
        { id: 'agent_1', name: 'Receptionist' },
        { id: 'agent_3', name: 'Clerk' },
      ],
      knowledge_bases: [
        { id: 'kb_plain', name: 'Handbook', user_id: 'user_ada' },
        { id: 'kb_shared', name: 'Prices' },
        {
          id: 'kb_whole',
          name: 'Recipes',
          description: 'What is cooked here',
          document_language: 'de',
          chunking_strategy: 'semantic',
          vector_backend: 'vector_db_3',
          embedding_model: 'text-embedding-3-large',
          chunk_size: 1_024,
          chunk_overlap: 0,
          assistant_persona: 'I am the cook',
          workspace_id: 'workspace_1',
          user_id: 'user_ada',
          created_at: '2026-01-01T00:00:00Z',
          updated_at: '2026-02-03T04:05:06.789Z',
        },
      ],
    },
    {
      id: 'org_2',
      name: 'Two',
      users: [{ id: 'user_cleo', name: 'Cleo', keys: [keys.cleo] }],
      agents: [{ id: 'agent_2', name: 'Guard' }],
      knowledge_bases: [{ id: 'kb_other', name: 'Secrets' }],
    },
  ],
};

/** The fields of answers that the tests look at; each answer has some of them. */
interface AnswerBody {
  readonly detail: readonly { readonly loc: readonly unknown[] }[];
  readonly error: string;
  readonly tools: readonly { readonly tool_id: string }[];
  readonly next_page_token: string | null;
  readonly links: readonly string[];
  readonly data: { readonly items: readonly Readonly<Record<string, unknown>>[] };
  readonly messages: readonly unknown[];
  readonly [field: string]: unknown;
}

/** A running sandbox of the two organizations, until the test ends. */
export function startedSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return startedAny({ seed: twoTenants, ...options });
}

/** Sends one request, by default as Ada. */
export async function ask(
  sandbox: Sandbox,
  line: string,
  parts: RequestParts = {},
): Promise<Answer & { readonly json: AnswerBody }> {
  const answer = await askAny(sandbox, line, { key: keys.ada, ...parts });
  return { ...answer, json: answer.json as AnswerBody };
}
