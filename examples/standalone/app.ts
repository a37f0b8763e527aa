/**
 * An app file, as `ringback serve --app` runs it. It keeps a journal of calls in its own table in the inbox's database,
 * so that each entry is written in one transaction with the mark that its run is done.
 *
 *   npm start                                               a demonstration, with ../sandbox/app.ts
 *   RINGBACK_SECRETS=whsec_… npm start                      the real thing, behind a TLS proxy
 */
import { Discard, type Receiver, RetryLater, type UserDatabase } from 'ringback';

export default function app(receiver: Receiver): void {
  // One handler for two kinds of event: it gets the events of one call one at a time, in the order of arrival.
  receiver.on(
    ['CallHandler.CallStarted', 'CallHandler.CallEnded'],
    { name: 'journal' },
    async (event, ctx) => {
      const hasEnded = event.eventName === 'CallHandler.CallEnded';
      await ctx.commit((database) => {
        openJournal(database);
        // The platform may deliver the end before the beginning, so each event may be the first of its call.
        const column = hasEnded ? 'ended_at' : 'started_at';
        database
          .prepare(
            `insert into journal (call_id, ${column}) values (?, ?)
             on conflict (call_id) do update set ${column} = excluded.${column}`,
          )
          .run(event.payload.call_id, event.occurredAt.toISOString());
      });
      ctx.log.info(hasEnded ? 'wrote when the call ended' : 'wrote when the call began');
    },
  );

  receiver.on('callAnalysis.pcaCompleted', { name: 'analysis' }, async (event, ctx) => {
    await ctx.commit((database) => {
      openJournal(database);
      const call = database
        .prepare('update journal set analysis = ? where call_id = ? and ended_at is not null')
        .run(event.payload.status ?? 'unknown', event.payload.call_id);
      // If this is thrown, nothing is committed, and the run is tried again after three seconds.
      if (call.changes === 0) throw new RetryLater('3s', 'the call has not ended yet');
    });
    ctx.log.info('wrote the result of the analysis');
  });

  receiver.on('CallHandler.CallTransferred', { name: 'hand-over', timeout: '10s' }, (event, ctx) => {
    // No later attempt would succeed, so the run becomes a dead letter at once, for a person to see.
    if (event.payload.status === 'failed')
      throw new Discard('the transfer failed: nobody took the call over');
    // The caller and the destination of the transfer are personal data, and stay out of the log.
    ctx.log.info('would tell the person who takes the call over');
  });

  // Gets the events that no handler above takes: unknown events, and known ones with required fields missing.
  receiver.fallback((event, ctx) => {
    ctx.log.info(`no handler takes ${event.eventName}; it is in the inbox`);
  });
}

function openJournal(database: UserDatabase): void {
  database.exec(`
    create table if not exists journal (
      call_id    text primary key,
      started_at text,
      ended_at   text,
      analysis   text
    )`);
}
