/** The app's own tables. */
import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** One row for each ended call. */
export const finishedCalls = pgTable('finished_calls', {
  callId: text('call_id').primaryKey(),
  agentId: text('agent_id'),
  endedAt: timestamp('ended_at', { withTimezone: true }).notNull(),
});

/** How many calls each agent has finished. */
export const agents = pgTable('agents', {
  agentId: text('agent_id').primaryKey(),
  calls: integer('calls').notNull(),
});

/** Makes the tables. An app that has migrations makes them there instead. */
export const createTables = `
  create table if not exists finished_calls (
    call_id text primary key, agent_id text, ended_at timestamptz not null);
  create table if not exists agents (agent_id text primary key, calls integer not null);`;
