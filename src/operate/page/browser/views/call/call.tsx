import { useAccess } from '../../api/access.ts';
import { change, pathOf } from '../../api/client.ts';
import type { Call, Erased } from '../../api/shapes.ts';
import { type EventsOfCall, maxListed, useEventsOfCall } from '../../api/use-call.ts';
import { useResource } from '../../api/use-resource.ts';
import { ChangeButton, type Why } from '../../parts/change-button.tsx';
import { counted, duration, visible } from '../../parts/format.ts';
import { Dismiss, Replay } from '../../parts/run-changes.tsx';
import { Loaded } from '../../parts/standing.tsx';
import { Fact, Facts, Foreign, State, Time } from '../../parts/text.tsx';
import { linkTo } from '../../router.ts';
import { CallDrawing } from './call-drawing.tsx';
import { CallJoins } from './call-joins.tsx';
import { CallTranscript } from './call-transcript.tsx';
import { EventTable } from '../events.tsx';

export function CallView({ callId }: { readonly callId: string }) {
  const resource = useResource<Call>(`/calls${pathOf(callId)}`, ['calls', 'events']);
  return (
    <Loaded resource={resource} heading={`Call ${callId}`}>
      {(call) => <OneCall call={call} />}
    </Loaded>
  );
}

function OneCall({ call }: { readonly call: Call }) {
  const { callId, status, durationMs } = call;
  const known = useEventsOfCall(callId);
  const isDead = known.data?.events.some(({ runs }) => runs.some(({ state }) => state === 'dead'));
  return (
    <>
      <p class="way">
        <a href={linkTo(['calls'])}>Calls</a>
      </p>
      <div class="title">
        <h1 tabIndex={-1}>
          Call <span dir="auto">{visible(callId)}</span>
        </h1>
        <State state={status} />
        {isDead && <State state="dead" />}
        <div class="buttons">
          {isDead && (
            <Replay
              filter={{ callId, state: 'dead' }}
              what="the dead letters of this call"
              label="Replay dead"
            />
          )}
          {isDead && <Dismiss filter={{ callId, state: 'dead' }} what="the dead letters of this call" />}
          <Replay filter={{ callId }} what="all events of this call" label="Replay all" isPrimary={false} />
          <Erase callId={callId} />
        </div>
      </div>
      <Loaded resource={known}>{({ events }) => <CallDrawing call={call} events={events} />}</Loaded>
      <Facts>
        <Fact name="Started">
          <Time at={call.startedAt} isLong />
        </Fact>
        <Fact name="Ended">
          <Time at={call.endedAt} isLong />
        </Fact>
        <Fact name="Lasted">{durationMs === undefined ? 'not known' : duration(durationMs)}</Fact>
        <Fact name="Agent">
          <Foreign text={call.agentId} isCode />
        </Fact>
        <Fact name="Organization">
          <Foreign text={call.organizationId} isCode />
        </Fact>
        {call.transfer && <TransferFacts transfer={call.transfer} />}
        {call.analysis && (
          <Fact name="Analysis">
            <Foreign text={[call.analysis.status, call.analysis.reason].filter(Boolean).join(': ')} />
          </Fact>
        )}
      </Facts>
      <CallJoins callId={callId} />
      <CallTranscript events={call.events} />
      {known.data && <ListedEvents callId={callId} {...known.data} />}
    </>
  );
}

function ListedEvents({ callId, events, isCut }: EventsOfCall & { readonly callId: string }) {
  return (
    <>
      <h2>Events</h2>
      {isCut && (
        <p class="faint">
          The latest {maxListed}, and older ones that have dead letters. The drawing shows the same.{' '}
          <a href={linkTo(['events'], { callId })}>All events of this call</a>
        </p>
      )}
      <EventTable events={events} />
    </>
  );
}

function TransferFacts({ transfer }: { readonly transfer: NonNullable<Call['transfer']> }) {
  return (
    <>
      <Fact name="Transferred to">
        <Foreign text={transfer.destination} />
      </Fact>
      <Fact name="Transfer">
        <Foreign text={[transfer.status, transfer.reason].filter(Boolean).join(': ')} />
      </Fact>
      <Fact name="Sentiment before">
        <Foreign text={transfer.sentiment} />
      </Fact>
    </>
  );
}

/** Erases a call, for a person who asks to be forgotten. */
function Erase({ callId }: { readonly callId: string }) {
  if (!useAccess().mayDo('erase')) return null;
  return (
    <ChangeButton
      label="Erase"
      isDangerous
      title={`Erase call ${callId}?`}
      text="Its events, runs and record are removed permanently from the inbox; the files of the database may hold remains for a while. Your own tables are not touched."
      preview={async (signal) => `${inWords(await erase(callId, { dryRun: true }, signal))} would be erased.`}
      act={async (why) => {
        return { text: `Erased: ${inWords(await erase(callId, why))}.`, seenAt: ['calls'] };
      }}
    />
  );
}

function erase(
  callId: string,
  options: Why & { readonly dryRun?: boolean },
  signal?: AbortSignal,
): Promise<Erased> {
  return change<Erased>('/erase', { body: { callId, ...options }, signal });
}

function inWords({ events, runs, quarantined }: Erased): string {
  const deliveries = counted(quarantined, 'delivery in quarantine', 'deliveries in quarantine');
  return `${counted(events, 'event')}, ${counted(runs, 'stored run')} and ${deliveries}`;
}
