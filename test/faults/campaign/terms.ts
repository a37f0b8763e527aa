/** What the receivers do with each event, and what is promised about it. */
import type { Order } from '../../../src/dispatch/handler.ts';

export interface HandlerTerms {
  readonly name: string;
  readonly isJoin: boolean;
  readonly order: Order;
  /** Whether its rows are written by `ctx.commit`: each once. The others are written at least once. */
  readonly isOnce: boolean;
}

export const handlers: readonly HandlerTerms[] = [
  { name: 'in order of call', isJoin: false, order: 'call', isOnce: true },
  { name: 'strict', isJoin: false, order: 'strict', isOnce: true },
  { name: 'unordered', isJoin: false, order: 'none', isOnce: false },
  { name: 'join', isJoin: true, order: 'none', isOnce: true },
];

export const eventNames = [
  'CallHandler.CallStarted',
  'CallHandler.CallEnded',
  'callAnalysis.pcaCompleted',
] as const;
/** Of these, the join waits for the last two; it is called without the last when that doesn't come for so long. */
export const joinWithin = '3s';

/** The schema of the inbox. */
export const schema = 'ringback';
/** The users' table: its rows are numbered in the order in which they are written. */
export const effects = 'app.effects';
export const createEffects = `
  create schema app;
  create table app.effects (place bigserial, handler text not null, call_id text not null, trace_id text not null)`;

/** What a receiver's process is told when it starts. */
export interface ReceiverArgument {
  readonly connectionString: string;
  /** What deliveries are signed with. */
  readonly secret: string;
  /** How far its clock is from the machine's, in milliseconds. */
  readonly clockOffset: number;
}
