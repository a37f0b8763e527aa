import { Injectable } from '@nestjs/common';
import type { CallEvent, EventOf, FallbackContext, RunContext } from 'ringback';
import { Fallback, On } from 'ringback/nest';
import { CallLog } from './call-log.js';

/** Handlers that use another provider. */
@Injectable()
export class CallHandlers {
  readonly #calls: CallLog;

  constructor(calls: CallLog) {
    this.#calls = calls;
  }

  @On('CallHandler.CallEnded', { name: 'save-call' })
  async saveCall(event: EventOf<'CallHandler.CallEnded'>, ctx: RunContext) {
    await ctx.commit((database) => this.#calls.noteEnd(database, event.payload.call_id, event.occurredAt));
  }

  @Fallback()
  rest(event: CallEvent, { isKnown, log }: FallbackContext) {
    log.warn({ isKnown, eventName: event.eventName }, 'no handler takes this event');
  }
}
