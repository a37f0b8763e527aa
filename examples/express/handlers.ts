/** The handlers, separate from the server: `ringback inbox replay --app handlers.ts` and tests use them as well. */
import { type Receiver, RetryLater } from 'ringback';

export default function handlers(receiver: Receiver): void {
  receiver.database.exec(
    'create table if not exists finished_calls (call_id text primary key, ended_at text not null)',
  );

  receiver.on('CallHandler.CallEnded', { name: 'save-call' }, async (event, ctx) => {
    await ctx.commit((db) => {
      db.prepare('insert into finished_calls values (?, ?) on conflict do nothing').run(
        event.payload.call_id,
        event.occurredAt.toISOString(),
      );
    });
  });

  receiver.on('callAnalysis.pcaCompleted', { name: 'note-analysis' }, async (event, ctx) => {
    if (event.payload.status === 'pending') throw new RetryLater('1m', 'the analysis is not ready');
    ctx.log.info('analysis ready');
  });

  receiver.fallback((event, { log, isKnown }) => {
    log.warn({ isKnown, eventName: event.eventName }, 'no handler takes this event');
  });
}
