/**
 * An app file: what `ringback serve --app` runs. It keeps a journal of calls in a table of its own, next to the
 * inbox, so that each entry and the mark that its run is done are written together.
 *
 *   npm start                                               a demonstration, with ../sandbox/app.ts
 *   RINGBACK_SECRETS=whsec_… npm start                      the real thing, behind a TLS proxy
 */
import { Discard, type Receiver, RetryLater, type UserDatabase } from 'ringback';

export default function app(receiver: Receiver): void {
  // Two kinds of event, one handler: events of one call come to it one at a time, in the order of arrival.
  receiver.on(
    ['CallHandler.CallStarted', 'CallHandler.CallEnded'],
    { name: 'journal' },
    async (event, ctx) => {
      const hasEnded = event.eventName === 'CallHandler.CallEnded';
      await ctx.commit((database) => {
        openJournal(database);
        // The platform may deliver the end before the beginning, so neither relies on the other.
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
      // Nothing is committed when this is thrown; the run comes back after three seconds.
      if (call.changes === 0) throw new RetryLater('3s', 'the call has not ended yet');
    });
    ctx.log.info('wrote the result of the analysis');
  });

  receiver.on('CallHandler.CallTransferred', { name: 'hand-over', timeout: '10s' }, (event, ctx) => {
    // No later attempt would make it succeed: the run becomes a dead letter, for a person to see.
    if (event.payload.status === 'failed')
      throw new Discard('the transfer failed: nobody took the call over');
    // Who called and where to is personal data, and stays out of the log.
    ctx.log.info('would tell the person who takes the call over');
  });

  // Whatever the handlers above don't take: events not known yet, and known ones that miss something.
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
