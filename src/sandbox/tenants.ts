import { textDigest } from '../kit/bytes.ts';
import type { Connection, Database } from './database.ts';
import type { Agent, Caller } from './model.ts';
import type { OrganizationSeed } from './seed.ts';

const tables = `
  create table if not exists organizations (
    id text primary key,
    name text not null
  ) strict;
  create table if not exists users (
    id text primary key,
    organization_id text not null references organizations (id),
    name text not null
  ) strict;
  create table if not exists workspaces (
    id text primary key,
    organization_id text not null references organizations (id),
    name text not null
  ) strict;
  create table if not exists agents (
    id text primary key,
    organization_id text not null references organizations (id),
    workspace_id text references workspaces (id),
    name text not null
  ) strict;
  create table if not exists keys (
    digest blob primary key,
    user_id text not null references users (id)
  ) strict, without rowid;
`;

const agentColumns = 'id, organization_id as organizationId, workspace_id as workspaceId, name';

/** SQLite has null where a field is undefined. */
type AgentRow = Omit<Agent, 'workspaceId'> & { readonly workspaceId: string | null };

/**
 * The organizations with their users, API keys, workspaces (groups of agents) and agents. They come from the seed, and
 * don't change.
 *
 * A key is a bearer token that identifies one user, and so one organization (platform document, Authentication). Only
 * the SHA-256 of keys is stored, so that a copy of the database gives no access. Keys are looked up by digest, so the
 * time of a look-up reveals nothing about the key.
 */
export class Tenants {
  readonly #connection: Connection;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
  }

  /** Adds an organization with everything except its knowledge bases. */
  add({ id, name, users, workspaces, agents }: OrganizationSeed): void {
    const insert = (table: string, ...values: readonly (string | Buffer | null)[]) =>
      this.#connection
        .prepare(`insert into ${table} values (${values.map(() => '?').join(', ')})`)
        .run(...values);
    insert('organizations', id, name);
    for (const user of users) {
      insert('users', user.id, id, user.name);
      for (const key of user.keys) insert('keys', textDigest(key), user.id);
    }
    for (const workspace of workspaces) insert('workspaces', workspace.id, id, workspace.name);
    for (const agent of agents) insert('agents', agent.id, id, agent.workspace_id ?? null, agent.name);
  }

  /** The user of a key, with their organization; undefined for an unknown key. */
  callerOf(key: string): Caller | undefined {
    return this.#connection
      .prepare<[Buffer], Caller>(
        `select users.organization_id as organizationId, users.id as userId
         from keys join users on users.id = keys.user_id where keys.digest = ?`,
      )
      .get(textDigest(key));
  }

  hasWorkspace(organizationId: string, id: string): boolean {
    const select = this.#connection.prepare('select 1 from workspaces where id = ? and organization_id = ?');
    return select.get(id, organizationId) !== undefined;
  }

  /** The id of the first organization of the seed. */
  firstOrganization(): string | undefined {
    return this.#connection
      .prepare<[], string>('select id from organizations order by rowid limit 1')
      .pluck()
      .get();
  }

  findAgent(id: string): Agent | undefined {
    return this.#agents('id = ?', id)[0];
  }

  /** An agent of the organization; undefined for an unknown id and for another organization's agent. */
  agent(organizationId: string, id: string): Agent | undefined {
    const agent = this.findAgent(id);
    return agent?.organizationId === organizationId ? agent : undefined;
  }

  agents(organizationId: string): readonly Agent[] {
    return this.#agents('organization_id = ? order by rowid', organizationId);
  }

  #agents(where: string, value: string): readonly Agent[] {
    return this.#connection
      .prepare<[string], AgentRow>(`select ${agentColumns} from agents where ${where}`)
      .all(value)
      .map((row) => ({ ...row, workspaceId: row.workspaceId ?? undefined }));
  }
}
