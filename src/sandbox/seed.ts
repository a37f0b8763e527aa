import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { valueAt } from '../kit/values.ts';
import { advances, knowledgeBaseSeedSchema } from './knowledge/fields.ts';

const text = z.string('text that is not empty').min(1, 'text that is not empty');

/** A key has the characters of a bearer token (RFC 6750). A shorter one is probably a mistake. */
const key = z
  .string('a key')
  .regex(/^[\w.~+/-]{8,200}=*$/, 'a key: 8 to 200 letters, digits and - . _ ~ + /');

const userSchema = z.strictObject({
  id: text,
  name: text,
  keys: z
    .array(key, 'a list of keys')
    .default([])
    .describe('API keys, in plain text. Only digests are stored.'),
});

const workspaceSchema = z.strictObject({ id: text, name: text });

const agentSchema = z.strictObject({
  id: text,
  name: text,
  workspace_id: text.optional().describe("The id of one of the organization's workspaces."),
});

const organizationSchema = z.strictObject({
  id: text,
  name: text,
  users: z.array(userSchema, 'a list of users').default([]),
  workspaces: z.array(workspaceSchema, 'a list of workspaces').default([]),
  agents: z.array(agentSchema, 'a list of agents').default([]),
  knowledge_bases: z.array(knowledgeBaseSeedSchema, 'a list of knowledge bases').default([]),
});

/**
 * The contents of a new sandbox. Published as `schemas/sandbox-seed.schema.json`. A schema can't express that ids are
 * unique and that references lead to something; `parseSeed` checks that.
 */
export const seedSchema = z.strictObject({
  $schema: z.string('text').optional().describe('Where an editor finds this schema.'),
  organizations: z
    .array(organizationSchema, 'a list of at least one organization')
    .min(1, 'a list of at least one organization'),
});

/**
 * The organizations of a new sandbox, with their users and keys, workspaces, agents and knowledge bases.
 *
 * @example
 * const seed = {
 *   organizations: [{ id: 'org_1', name: 'One', users: [{ id: 'user_1', name: 'Ada', keys: ['key_of_ada'] }] }],
 * };
 */
export type Seed = z.input<typeof seedSchema>;

type ParsedSeed = z.output<typeof seedSchema>;

export type OrganizationSeed = ParsedSeed['organizations'][number];

/** @throws ConfigError `seed_invalid`, which names the place of the mistake and never repeats a key */
export function parseSeed(seed: unknown): ParsedSeed {
  const result = seedSchema.safeParse(seed);
  if (!result.success) throw seedInvalid(result.error.issues[0], seed);
  refuseRepeated(result.data);
  for (const [index, organization] of result.data.organizations.entries()) {
    refuseDangling(organization, `organizations.${index}`);
  }
  return result.data;
}

/** The contents of a new sandbox without a seed: one organization with one user, key, agent and knowledge base. */
export function demonstrationSeed(newKey: string): ParsedSeed {
  return parseSeed({
    organizations: [
      {
        id: 'org_demonstration',
        name: 'Demonstration',
        users: [{ id: 'user_demonstration', name: 'Demonstration', keys: [newKey] }],
        agents: [{ id: 'agent_demonstration', name: 'Demonstration' }],
        knowledge_bases: [{ id: 'kb_demonstration', name: 'Demonstration' }],
      },
    ],
  });
}

function seedInvalid(issue: z.core.$ZodIssue | undefined, seed: unknown) {
  if (issue?.code === 'unrecognized_keys') {
    const place = [...issue.path, issue.keys[0]].join('.');
    return configError('seed_invalid', { place, expected: 'a field that seeds have' });
  }
  const isNoObject = issue?.code === 'invalid_type' && issue.expected === 'object';
  const expected = isNoObject ? 'an object' : (issue?.message ?? 'valid');
  const path = issue?.path ?? [];
  const value = valueAt(seed, path);
  // The value isn't quoted: it may be a key.
  const found = value === undefined ? 'missing' : value === '' ? 'empty' : 'something else';
  return configError('seed_invalid', { place: path.join('.') || 'the whole', expected, found });
}

/** An id names one thing of its kind in the whole sandbox, and a key belongs to one user. */
function refuseRepeated({ organizations }: ParsedSeed): void {
  const users = organizations.flatMap((organization) => organization.users);
  const named = {
    organizations,
    users,
    workspaces: organizations.flatMap(({ workspaces }) => workspaces),
    agents: organizations.flatMap(({ agents }) => agents),
    knowledge_bases: organizations.flatMap((organization) => organization.knowledge_bases),
  };
  for (const [kind, things] of Object.entries(named)) {
    const repeated = firstRepeated(things.map(({ id }) => id));
    if (repeated !== undefined) {
      throw configError('seed_invalid', { place: `${kind} "${repeated}"`, expected: 'there once' });
    }
  }
  if (firstRepeated(users.flatMap(({ keys }) => keys)) !== undefined) {
    throw configError('seed_invalid', { place: 'each of the keys', expected: 'the key of one user' });
  }
}

function refuseDangling({ users, workspaces, agents, knowledge_bases: bases }: OrganizationSeed, at: string) {
  const hasUser = (id: string) => users.some((user) => user.id === id);
  const hasWorkspace = (id: string) => workspaces.some((workspace) => workspace.id === id);
  const expectKnown = (place: string, id: string | null | undefined, isKnown: (id: string) => boolean) => {
    if (id === null || id === undefined || isKnown(id)) return;
    throw configError('seed_invalid', {
      place: `${at}.${place}`,
      expected: 'an id in the same organization',
    });
  };
  for (const [index, agent] of agents.entries()) {
    expectKnown(`agents.${index}.workspace_id`, agent.workspace_id, hasWorkspace);
  }
  for (const [index, base] of bases.entries()) {
    expectKnown(`knowledge_bases.${index}.workspace_id`, base.workspace_id, hasWorkspace);
    expectKnown(`knowledge_bases.${index}.user_id`, base.user_id, hasUser);
    if (!advances(base)) {
      const place = `${at}.knowledge_bases.${index}.chunk_overlap`;
      throw configError('seed_invalid', { place, expected: 'less than chunk_size' });
    }
  }
}

function firstRepeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}
