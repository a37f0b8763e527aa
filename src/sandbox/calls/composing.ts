import { eventNames } from '../../events/names.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Agent } from '../model.ts';
import type { PlayedAnalysis, PlayedCall, PlayedEvent, PlayedTransfer, Scenario } from './call.ts';
import { type Choice, type ParsedPlan, choose } from './call-plan.ts';
import { analysisItemsOf } from './conversations.ts';
import { seededId, seededRandom, seededUuid } from './seeded-random.ts';

interface CallSetting {
  readonly seed: string;
  /** The number of the call in this sandbox, from 1. With the seed, it determines everything that is drawn. */
  readonly number: number;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly speed: number;
}

/** Composes a whole call, before any of its events happens. The same plan in the same setting gives the same call. */
export function composeCall(plan: ParsedPlan, setting: CallSetting): PlayedCall {
  const { seed, number, agent } = setting;
  const choice = choose(plan, seededRandom(seed, number));
  const { scenario, conversation, timestamps, callerNumber } = choice;
  const course = courseOf(choice);
  const times = timesIn(setting, course.analysed ?? course.ended, timestamps === 'seconds' ? 1_000 : 1);
  const transfer =
    course.transferred === undefined ? undefined : transferOf(choice, times.stated(course.transferred));
  return {
    callId: plan.callId ?? seededId(seed, number),
    organizationId: agent.organizationId,
    agentId: agent.id,
    workspaceId: agent.workspaceId,
    scenario,
    status: statusOf(choice),
    finishReason: finishReasons[scenario],
    startedAt: times.stated(0),
    endedAt: times.stated(course.ended),
    timestamps,
    language: conversation.language,
    callerNumber,
    messages: conversation.messages,
    transfer,
    analysis: course.analysed === undefined ? undefined : analysisOf(choice, times.stated(course.analysed)),
    events: eventsOf(course).map(([eventName, offset]) => ({
      traceId: seededUuid(seed, number, eventName),
      eventName,
      occurredAt: isUndated(eventName, transfer) ? undefined : times.stated(offset),
      happensAt: times.real(offset),
    })),
  };
}

/** When each step of a call happens, in milliseconds after the start; undefined for a step that doesn't happen. */
interface Course {
  readonly transferred: number | undefined;
  readonly ended: number;
  readonly analysed: number | undefined;
}

function courseOf({ scenario, duration, analysisAfter, transferShare }: Choice): Course {
  return {
    transferred: scenario === 'transferred' ? duration * transferShare : undefined,
    ended: duration,
    analysed: scenario === 'unanalysed' ? undefined : duration + analysisAfter,
  };
}

function eventsOf({ transferred, ended, analysed }: Course): readonly (readonly [string, number])[] {
  const events = [
    [eventNames.callStarted, 0],
    [eventNames.callTransferred, transferred],
    [eventNames.callEnded, ended],
    [eventNames.pcaCompleted, analysed],
  ] as const;
  return events.filter((event): event is typeof event & readonly [string, number] => event[1] !== undefined);
}

function isUndated(eventName: PlayedEvent['eventName'], transfer: PlayedTransfer | undefined): boolean {
  return eventName === eventNames.callTransferred && transfer?.isWrapped === false;
}

function transferOf(choice: Choice, at: number): PlayedTransfer {
  const { conversation, destination, sentiment, transferStatus, transferBody } = choice;
  return {
    status: transferStatus,
    destination,
    reason: conversation.transferReason,
    sentiment,
    topics: conversation.topics,
    actions: conversation.actions,
    unresolved: conversation.unresolved,
    at,
    isWrapped: transferBody === 'wrapped',
  };
}

function analysisOf(choice: Choice, at: number): PlayedAnalysis {
  const status = statusOf(choice);
  return status === 'success'
    ? { status, reason: 'analysis finished', at, items: analysisItemsOf(choice.conversation) }
    : { status, reason: 'the call failed before there was anything to analyse', at, items: [] };
}

/** The document shows only `success`; `failed` is the sandbox's choice. */
function statusOf({ scenario }: Choice): PlayedCall['status'] {
  return scenario === 'failed' ? 'failed' : 'success';
}

/** The document shows no finish reasons: these are the sandbox's choice. */
const finishReasons: Readonly<Record<Scenario, string>> = {
  completed: 'user_hangup',
  transferred: 'call_transferred',
  unanalysed: 'user_hangup',
  failed: 'error',
};

/**
 * The two times of a moment `offset` platform milliseconds after the call's start: the time that the call states, in
 * whole units, and the real time. A faster call is dated as if it had begun earlier.
 */
function timesIn({ clock, speed }: CallSetting, length: number, unit: number) {
  const now = clock.now();
  const earlier = Math.max(0, length - length / speed);
  return {
    stated: (offset: number) => Math.floor((now - earlier + offset) / unit) * unit,
    real: (offset: number) => now + offset / speed,
  };
}
