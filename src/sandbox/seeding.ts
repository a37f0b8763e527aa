import { randomBytes } from 'node:crypto';
import type { Database } from './database.ts';
import type { Documents } from './knowledge/documents.ts';
import type { KnowledgeBases } from './knowledge/knowledge-bases.ts';
import type { ResolvedSandboxOptions } from './options.ts';
import { type OrganizationSeed, demonstrationSeed } from './seed.ts';
import type { Tenants } from './tenants.ts';

interface SeededParts {
  readonly tenants: Tenants;
  readonly knowledgeBases: KnowledgeBases;
  readonly documents: Documents;
}

/**
 * Fills a new database. Returns the key of the demonstration organization; undefined with a seed, which has its own
 * keys, and with an existing database.
 */
export function fill(
  database: Database,
  { seed, clock }: ResolvedSandboxOptions,
  parts: SeededParts,
): string | undefined {
  if (!database.isNew) return undefined;
  const key = seed === undefined ? newKey() : undefined;
  const { organizations } = seed ?? demonstrationSeed(key ?? '');
  const now = clock.now();
  database.fill(() => {
    for (const organization of organizations) fillFrom(organization, parts, now);
  });
  return key;
}

function newKey(): string {
  return `key_${randomBytes(24).toString('base64url')}`;
}

function fillFrom(
  seed: OrganizationSeed,
  { tenants, knowledgeBases, documents }: SeededParts,
  now: number,
): void {
  tenants.add(seed);
  for (const { documents: files, ...base } of seed.knowledge_bases) {
    knowledgeBases.add({ ...base, organization_id: seed.id }, now);
    for (const { name, text } of files) {
      const content = Buffer.from(text);
      // Its name determines the type of text, as for an upload without a content type.
      const source = { kind: 'file', contentType: undefined } as const;
      documents.add({ knowledgeBaseId: base.id, name, source, content, size: content.byteLength }, now);
    }
  }
}
