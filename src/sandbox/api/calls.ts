import type { Clock } from '../../kit/clock.ts';
import { type CallProgress, type PlayedCall, progressOf } from '../calls/call.ts';
import type { PlayedCalls } from '../calls/played-calls.ts';
import { isoTime } from '../model.ts';
import { type ApiAnswer, ApiError, type ApiRequest, type Route, routesOf } from './route.ts';

interface CallParts {
  readonly calls: PlayedCalls;
  readonly clock: Clock;
}

/** The operations that read calls. They were seen in use, but aren't in the platform's document (docs/sandbox.md). */
export function callRoutes({ calls, clock }: CallParts): readonly Route[] {
  const find = ({ caller, params }: ApiRequest): PlayedCall | undefined =>
    calls.find(caller.organizationId, params['call_id'] ?? '');
  const analysisPath = '/v2/ai-agents/:agent_id/postcall-analysis/results/:call_id';
  return [
    routesOf('calls', 'general')('get', 'GET', '/v1/calls/:call_id', (request) => {
      const call = find(request);
      if (!call) throw new ApiError('not_found', 'Call not found');
      return { status: 200, body: callBody(call, progressOf(call, clock.now())) };
    }),
    routesOf('analyses', 'general')('get', 'GET', analysisPath, (request) =>
      analysisAnswer(find(request), request, clock.now()),
    ),
  ];
}

/** Before a call has ended, the fields about its end are null and it has no messages: the sandbox's choices. */
function callBody(call: PlayedCall, { status, hasEnded }: CallProgress) {
  return {
    _id: call.callId,
    ai_agent_id: call.agentId,
    call_status: status,
    call_start_time: status === 'registered' ? null : isoTime(call.startedAt),
    call_end_time: hasEnded ? isoTime(call.endedAt) : null,
    call_duration_seconds: hasEnded ? (call.endedAt - call.startedAt) / 1_000 : null,
    call_finish_reason: hasEnded ? call.finishReason : null,
    messages: hasEnded ? call.messages : [],
    metadata: { language: call.language },
  };
}

/** Before an analysis is ready, users have seen 404 and 500. The sandbox answers 404, even if none ever comes. */
function analysisAnswer(call: PlayedCall | undefined, { params }: ApiRequest, now: number): ApiAnswer {
  const isReady = call?.agentId === params['agent_id'] && call && progressOf(call, now).isAnalysed;
  if (!isReady) throw new ApiError('not_found', 'Analysis not found');
  const items = call.analysis?.items ?? [];
  return { status: 200, body: { data: { call_id: call.callId, ai_agent_id: call.agentId, items } } };
}
