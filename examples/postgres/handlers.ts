/** The handlers, separate from the server: `ringback inbox replay --app handlers.ts` and tests use them as well. */
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Receiver } from 'ringback';
import type { PostgresTransaction } from 'ringback/postgres';
import { agents, finishedCalls } from './schema.ts';

export default function handlers(receiver: Receiver<PostgresTransaction>): void {
  receiver.on('CallHandler.CallEnded', { name: 'count-call' }, async (event, ctx) => {
    const { call_id: callId, agent_id: agentId } = event.payload;
    // Both tables and the end of the run are written in one transaction, so that each call is counted exactly once.
    await ctx.commit(async (tx) => {
      const db = drizzle(tx);
      const call = { callId, agentId, endedAt: event.occurredAt };
      const [added] = await db.insert(finishedCalls).values(call).onConflictDoNothing().returning();
      if (added === undefined || agentId === undefined) return;
      await db
        .insert(agents)
        .values({ agentId, calls: 1 })
        .onConflictDoUpdate({ target: agents.agentId, set: { calls: sql`${agents.calls} + 1` } });
    });
  });
}
