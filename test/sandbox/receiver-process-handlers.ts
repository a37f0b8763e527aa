import { type CallEvent, type Receiver, type RunContext, eventNames } from '../support/public.ts';

/**
 * Registers handlers, one for each kind of event, and a join, which write a row for each event or call. A second run
 * would show: the tables take any number of rows.
 */
export function recording(receiver: Receiver): void {
  receiver.database.exec(`
    create table if not exists handled (trace_id text, handler text, call_id text);
    create table if not exists joined (call_id text, complete integer);`);
  const record =
    (handler: string) =>
    (event: CallEvent<string, unknown>, { commit }: RunContext) =>
      commit((db) => {
        db.prepare('insert into handled values (?, ?, ?)').run(event.traceId, handler, event.callId ?? null);
      });
  receiver
    .on(eventNames.callStarted, { name: 'started' }, record('started'))
    .on(eventNames.callEnded, { name: 'ended' }, record('ended'))
    .on(eventNames.callTransferred, { name: 'transferred' }, record('transferred'))
    .on(eventNames.pcaCompleted, { name: 'analysed' }, record('analysed'))
    .onCall(
      { name: 'joined', events: [eventNames.callEnded, eventNames.pcaCompleted], within: '1h' },
      ({ callId, complete }, { commit }) =>
        commit((db) => void db.prepare('insert into joined values (?, ?)').run(callId, Number(complete))),
    );
}
