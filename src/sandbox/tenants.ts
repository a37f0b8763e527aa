import type { Statement } from 'better-sqlite3';
import { randomBytes } from 'node:crypto';
import { textDigest } from '../kit/bytes.ts';
import type { Connection, Database } from './database.ts';
import type { Agent, Caller, Organization, User } from './model.ts';

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

/** A part of an organization that agents belong to. */
export interface Workspace {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
}

interface AgentRow {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string | null;
  readonly name: string;
}

/**
 * The organizations with their users, API keys, workspaces and agents. They come from the seed, and don't change.
 *
 * A key is a bearer token. It stands for one user, and so for one organization (platform document, Authentication).
 * Only the SHA-256 of keys is stored, so that nobody can send requests with a copy of the database. A key is looked up
 * by its digest, so the time of the look-up reveals nothing about the key.
 */
export class Tenants {
  readonly #connection: Connection;
  readonly #caller: Statement<[Buffer], Caller>;
  readonly #workspace: Statement<[string, string]>;
  readonly #agent: Statement<[string], AgentRow>;
  readonly #agents: Statement<[string], AgentRow>;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
    this.#caller = database.connection.prepare(`
      select users.organization_id as organizationId, users.id as userId
      from keys join users on users.id = keys.user_id where keys.digest = ?`);
    this.#workspace = database.connection.prepare(
      'select 1 from workspaces where id = ? and organization_id = ?',
    );
    this.#agent = database.connection.prepare('select * from agents where id = ?');
    this.#agents = database.connection.prepare(
      'select * from agents where organization_id = ? order by rowid',
    );
  }

  addOrganization({ id, name }: Organization): void {
    this.#connection.prepare('insert into organizations values (?, ?)').run(id, name);
  }

  addUser({ id, organizationId, name }: User): void {
    this.#connection.prepare('insert into users values (?, ?, ?)').run(id, organizationId, name);
  }

  addKey(key: string, userId: string): void {
    this.#connection.prepare('insert into keys values (?, ?)').run(textDigest(key), userId);
  }

  /** The user that the key stands for, with their organization; undefined for an unknown key. */
  callerOf(key: string): Caller | undefined {
    return this.#caller.get(textDigest(key));
  }

  addWorkspace({ id, organizationId, name }: Workspace): void {
    this.#connection.prepare('insert into workspaces values (?, ?, ?)').run(id, organizationId, name);
  }

  hasWorkspace(organizationId: string, id: string): boolean {
    return this.#workspace.get(id, organizationId) !== undefined;
  }

  addAgent({ id, organizationId, workspaceId, name }: Agent): void {
    const insert = this.#connection.prepare('insert into agents values (?, ?, ?, ?)');
    insert.run(id, organizationId, workspaceId ?? null, name);
  }

  /** The organizations, in the order of the seed. */
  organizations(): readonly Organization[] {
    return this.#connection
      .prepare<[], Organization>('select id, name from organizations order by rowid')
      .all();
  }

  /** An agent of any organization. */
  findAgent(id: string): Agent | undefined {
    const row = this.#agent.get(id);
    return row && agentOf(row);
  }

  /** An agent of the organization; undefined for an unknown id, and also for another organization's agent. */
  agent(organizationId: string, id: string): Agent | undefined {
    const agent = this.findAgent(id);
    return agent?.organizationId === organizationId ? agent : undefined;
  }

  /** The organization's agents, in the order of the seed. */
  agents(organizationId: string): readonly Agent[] {
    return this.#agents.all(organizationId).map(agentOf);
  }
}

function agentOf(row: AgentRow): Agent {
  return {
    id: row.id,
    organizationId: row.organization_id,
    workspaceId: row.workspace_id ?? undefined,
    name: row.name,
  };
}

/** A new key that nobody can guess. */
export function newKey(): string {
  return `key_${randomBytes(24).toString('base64url')}`;
}
