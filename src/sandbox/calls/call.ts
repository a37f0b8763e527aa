import { eventNames } from '../../events/names.ts';

export const scenarios = ['completed', 'transferred', 'unanalysed', 'failed'] as const;

/**
 * How a call goes: `completed` (started, ended, analysed), `transferred` (the same with a transfer before the end),
 * `unanalysed` (its analysis never comes), `failed` (it ends, and is analysed, with the status `failed`).
 */
export type Scenario = (typeof scenarios)[number];

export const transferStatuses = ['pending', 'initiated', 'success', 'failed'] as const;
export const sentiments = ['positive', 'neutral', 'negative'] as const;

/** One message of a conversation. */
export interface Message {
  readonly role: 'user' | 'agent';
  readonly content: string;
}

/** The transfer of a call. Times in milliseconds since 1970. */
export interface PlayedTransfer {
  readonly status: (typeof transferStatuses)[number];
  /** A SIP address, a phone number or an internal extension. */
  readonly destination: string;
  readonly reason: string;
  readonly sentiment: (typeof sentiments)[number];
  readonly topics: readonly string[];
  readonly actions: readonly string[];
  readonly unresolved: readonly string[];
  readonly at: number;
  /** Whether the body is in the envelope, which the document's sample lacks. */
  readonly isWrapped: boolean;
}

/** One result of the analysis. `result` is a text for every type. */
export interface AnalysisItem {
  readonly type: string;
  readonly name: string;
  readonly description: string;
  readonly analysis_prompt: string;
  readonly result: string;
}

/** The analysis of a call. Times in milliseconds since 1970. */
export interface PlayedAnalysis {
  readonly status: 'success' | 'failed';
  readonly reason: string;
  readonly at: number;
  readonly items: readonly AnalysisItem[];
}

/** One event of a call. */
export interface PlayedEvent {
  readonly traceId: string;
  readonly eventName: string;
  /** The time in its body, in milliseconds since 1970; undefined for a flat body, which has none. */
  readonly occurredAt: number | undefined;
  /** When it happens in real time, in milliseconds since 1970: its first attempt is due then. */
  readonly happensAt: number;
}

/**
 * A played call: the facts that its events report. Times are the call's own, in milliseconds since 1970; at a speed of
 * 1 they are the real ones. A faster call is dated as if it had begun earlier: it has its full duration, and none of
 * its events lies in the future.
 */
export interface PlayedCall {
  readonly callId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly workspaceId: string | undefined;
  readonly scenario: Scenario;
  readonly status: 'success' | 'failed';
  readonly finishReason: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** How its events write times: ISO 8601 with nanoseconds, or UNIX seconds. */
  readonly timestamps: 'iso' | 'seconds';
  /** Of the form `xx-XX`. */
  readonly language: string;
  readonly callerNumber: string;
  readonly messages: readonly Message[];
  readonly transfer: PlayedTransfer | undefined;
  /** Undefined when it never comes. */
  readonly analysis: PlayedAnalysis | undefined;
  /** In the order in which they happen. */
  readonly events: readonly PlayedEvent[];
}

/** The progress of a call, as the platform's API would report it. */
export interface CallProgress {
  readonly status: 'registered' | 'ongoing' | 'ended' | 'error';
  readonly hasEnded: boolean;
  readonly isAnalysed: boolean;
}

/** The progress of a call by now, without future events. */
export function progressOf(call: PlayedCall, now: number): CallProgress {
  const hasHappened = (name: string) =>
    call.events.some(({ eventName, happensAt }) => eventName === name && happensAt <= now);
  const hasEnded = hasHappened(eventNames.callEnded);
  const open = hasHappened(eventNames.callStarted) ? 'ongoing' : 'registered';
  const ended = call.status === 'failed' ? 'error' : 'ended';
  return {
    status: hasEnded ? ended : open,
    hasEnded,
    isAnalysed: hasHappened(eventNames.pcaCompleted),
  };
}
