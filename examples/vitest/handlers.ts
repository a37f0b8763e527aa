/** The handlers, separate from the program that starts them, so that tests can use them too. */
import { Discard, type Receiver } from 'ringback';

/** The part of a CRM's client that the handlers need; tests pass their own. */
export interface Crm {
  callEnded(callId: string, endedAt: Date): Promise<'saved' | 'unknown customer'>;
}

/** Registers the handlers. */
export function registerHandlers(receiver: Receiver, crm: Crm): void {
  receiver.on('CallHandler.CallEnded', { name: 'tell-crm' }, async (event) => {
    const answer = await crm.callEnded(event.payload.call_id, event.occurredAt);
    if (answer === 'unknown customer') throw new Discard('the CRM does not know this customer');
  });
}
