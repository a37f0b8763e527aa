import type { Statement } from 'better-sqlite3';
import type { Connection, Database } from './database.ts';
import type { Agent, Organization, User } from './model.ts';

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

/** The organizations with their users, workspaces and agents. They come from the seed, and don't change. */
export class Tenants {
  readonly #connection: Connection;
  readonly #agent: Statement<[string], AgentRow>;
  readonly #agents: Statement<[string], AgentRow>;

  constructor(database: Database) {
    database.create(tables);
    this.#connection = database.connection;
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

  addWorkspace({ id, organizationId, name }: Workspace): void {
    this.#connection.prepare('insert into workspaces values (?, ?, ?)').run(id, organizationId, name);
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
