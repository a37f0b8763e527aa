import { randomUUID } from 'node:crypto';
import type { Receiver } from '../support/public.ts';
import { names, tell } from './call-events.ts';

/** Registers handlers whose effects a second time would show: the tables take any number of rows. */
export function committing(receiver: Receiver): void {
  receiver.database.exec(`
    create table if not exists effects (trace_id text);
    create table if not exists orders (call_id text);`);
  receiver
    .on('*', { name: 'effects' }, (event, { commit }) =>
      commit((db) => void db.prepare('insert into effects values (?)').run(event.traceId)),
    )
    .onCall({ name: 'orders', events: [names.ended, names.analysed], within: '1h' }, (call, { commit }) =>
      commit((db) => void db.prepare('insert into orders values (?)').run(call.callId)),
    );
}

/** Tells one call after the other, without end. */
export async function tellCalls(receiver: Receiver): Promise<never> {
  for (;;) {
    const callId = randomUUID();
    await tell(receiver, { name: 'analysed', callId, traceId: `${callId}-analysed` });
    await tell(receiver, { name: 'ended', callId, traceId: `${callId}-ended` });
  }
}
