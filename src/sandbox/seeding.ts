import type { Keys } from './keys.ts';
import type { KnowledgeBases } from './knowledge-bases/knowledge-bases.ts';
import type { OrganizationSeed, ParsedSeed } from './seed.ts';
import type { Tenants } from './tenants.ts';

/** The parts of the sandbox that a seed fills. */
export interface SeededParts {
  readonly tenants: Tenants;
  readonly keys: Keys;
  readonly knowledgeBases: KnowledgeBases;
}

/** Writes a seed into a new database; `now` is the time of that, in milliseconds since 1970. */
export function fillFromSeed({ organizations }: ParsedSeed, parts: SeededParts, now: number): void {
  for (const organization of organizations) seedOrganization(organization, parts, now);
}

function seedOrganization(
  seed: OrganizationSeed,
  { tenants, keys, knowledgeBases }: SeededParts,
  now: number,
) {
  const { id: organizationId } = seed;
  tenants.addOrganization(seed);
  for (const user of seed.users) {
    tenants.addUser({ ...user, organizationId });
    for (const key of user.keys) keys.add(key, user.id);
  }
  for (const workspace of seed.workspaces) tenants.addWorkspace({ ...workspace, organizationId });
  for (const { workspace_id: workspaceId, ...agent } of seed.agents) {
    tenants.addAgent({ ...agent, organizationId, workspaceId });
  }
  for (const base of seed.knowledge_bases) {
    knowledgeBases.add({ ...base, organization_id: organizationId }, now);
  }
}
