import { randomUUID } from 'node:crypto';
import type { Receiver } from '../support/public.ts';
import { names, tell } from './call-events.ts';

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

/** Retries as the platform does, because on a busy machine the receiver may answer 503 now and then. */
async function tellUntilHeard(receiver: Receiver, event: Parameters<typeof tell>[1]): Promise<void> {
  for (let tries = 0; tries < 30; tries += 1) {
    const isHeard = await tell(receiver, event).then(
      () => true,
      () => false,
    );
    if (isHeard) return;
  }
  throw new Error('Nobody heard of it');
}

/** Delivers the events of a call, until both are acknowledged. */
export async function tellCall(receiver: Receiver): Promise<void> {
  const callId = randomUUID();
  await tellUntilHeard(receiver, { name: 'analysed', callId, traceId: `${callId}-analysed` });
  await tellUntilHeard(receiver, { name: 'ended', callId, traceId: `${callId}-ended` });
}
