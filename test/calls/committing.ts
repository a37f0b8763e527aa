import { randomUUID } from 'node:crypto';
import { turn } from '../support/clock.ts';
import type { Receiver } from '../support/public.ts';
import { deliverEvent, names } from './call-events.ts';

/** Registers handlers whose effects would show if they were made twice: the tables take any number of rows. */
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

/** Delivers an event again and again, because on a busy machine the receiver may answer 503 for a while. */
async function reportUntilAcknowledged(
  receiver: Receiver,
  event: Parameters<typeof deliverEvent>[1],
): Promise<void> {
  for (;;) {
    const isAcknowledged = await deliverEvent(receiver, event).then(
      () => true,
      () => false,
    );
    if (isAcknowledged) return;
    await turn();
  }
}

/** Delivers the events of a call, until both are acknowledged. */
export async function reportCall(receiver: Receiver): Promise<void> {
  const callId = randomUUID();
  await reportUntilAcknowledged(receiver, { name: 'analysed', callId, traceId: `${callId}-analysed` });
  await reportUntilAcknowledged(receiver, { name: 'ended', callId, traceId: `${callId}-ended` });
}
