import { useAccess } from '../api/access.ts';
import { change, pathOf } from '../api/client.ts';
import type { HandlerState, Handlers } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { ChangeButton } from '../parts/change-button.tsx';
import { counted, duration, number } from '../parts/format.ts';
import { Dismiss } from '../parts/run-changes.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Foreign, ForeignWords, State, Time } from '../parts/text.tsx';
import { linkTo } from '../router.ts';

export function HandlersView() {
  const resource = useResource<Handlers>('/handlers', ['handlers', 'events', 'failures']);
  return (
    <>
      <h1 tabIndex={-1}>Handlers and processes</h1>
      <Loaded resource={resource}>
        {({ handlers, processes }) => (
          <>
            {handlers.length === 0 ? (
              <Empty title="No process has a handler.">
                Events are received and kept. They are handled once a process with handlers starts.
              </Empty>
            ) : (
              <HandlerTable handlers={handlers} />
            )}
            <h2>Processes</h2>
            <ProcessTable processes={processes} />
          </>
        )}
      </Loaded>
    </>
  );
}

export function HandlerTable({ handlers }: Pick<Handlers, 'handlers'>) {
  const { mayDo } = useAccess();
  const mayChange = mayDo('pause') || (mayDo('dismiss') && handlers.some(isLeft));
  const shown = mayChange ? columns : columns.filter(({ head }) => head !== 'Change');
  return <Table label="Handlers" columns={shown} rows={handlers} keyOf={({ name }) => name} below={moreOf} />;
}

const columns: readonly Column<HandlerState>[] = [
  {
    head: 'Handler',
    cell: ({ name }) => (
      <a href={linkTo(['handlers', name])}>
        <Foreign text={name} />
      </a>
    ),
  },
  {
    head: 'State',
    cell: ({ pause, isRegistered }) => (
      <State state={pause ? 'paused' : isRegistered ? 'active' : 'not registered'} />
    ),
  },
  { head: 'Change', cell: (handler) => <Changes handler={handler} /> },
  { head: 'Due', cell: ({ due }) => number(due), looks: 'count' },
  { head: 'Running', cell: ({ running }) => number(running), looks: 'count' },
  { head: 'Blocked', cell: ({ blocked }) => number(blocked), looks: 'count' },
  {
    head: 'Dead',
    cell: ({ name, dead }) =>
      dead === 0 ? '0' : <a href={linkTo(['failures'], { handler: name })}>{number(dead)}</a>,
    looks: 'count',
  },
  {
    head: 'Events',
    cell: ({ settings }) =>
      settings && <Foreign text={(settings.join?.events ?? settings.patterns).join(', ')} />,
    looks: 'wide',
  },
  { head: 'Settings', cell: ({ settings }) => settings && <Settings settings={settings} /> },
];

/** Whether runs wait, or are dead, that no process will run. */
function isLeft({ isRegistered, due, blocked, dead }: HandlerState): boolean {
  return !isRegistered && due + blocked + dead > 0;
}

function Changes({ handler }: { readonly handler: HandlerState }) {
  const { name, pause } = handler;
  const mayPause = useAccess().mayDo('pause');
  return (
    <>
      {mayPause && <PauseOrResume name={name} isPaused={pause !== undefined} />}{' '}
      {isLeft(handler) && <Dismiss filter={{ handler: name }} what={`what is left of ${name}`} />}
    </>
  );
}

/** What has no column, because it would take the room of others. */
function moreOf({ pause, here }: HandlerState) {
  const waiting = here?.waiting ?? 0;
  if (!pause && waiting === 0) return undefined;
  return (
    <>
      {pause && <Paused pause={pause} />}
      {here && waiting > 0 && (
        <span class="faint">
          {pause && ' '}
          {counted(here.active, 'run is', 'runs are')} active in this process, and{' '}
          {counted(waiting, 'waits', 'wait')}.
        </span>
      )}
    </>
  );
}

/** Since when a handler is paused, by whom and why. */
function Paused({ pause }: { readonly pause: NonNullable<HandlerState['pause']> }) {
  return (
    <>
      <span class="faint">Paused since</span> <Time at={pause.since} />
      {pause.by !== undefined && (
        <>
          {' '}
          <span class="faint">by</span> <ForeignWords text={pause.by} />
        </>
      )}
      {pause.reason !== undefined && (
        <>
          <span class="faint">:</span> <ForeignWords text={pause.reason} />
        </>
      )}
    </>
  );
}

function Settings({ settings }: { readonly settings: NonNullable<HandlerState['settings']> }) {
  const { order, concurrency, timeout, rate, join } = settings;
  return (
    <>
      {join
        ? `joins within ${duration(join.within)}`
        : `${order}, ${counted(concurrency, 'at once', 'at once')}`}
      <div class="faint">
        timeout {duration(timeout)}
        {rate !== undefined && `, at most ${rate}`}
      </div>
    </>
  );
}

function PauseOrResume({ name, isPaused }: { readonly name: string; readonly isPaused: boolean }) {
  const path = `/handlers${pathOf(name)}`;
  return isPaused ? (
    <ChangeButton
      label="Resume"
      isPrimary
      title={`Resume ${name}?`}
      text="Its waiting runs start, in all processes."
      act={async (why) => {
        await change(`${path}/resume`, { body: why });
        return `${name} runs again.`;
      }}
    />
  ) : (
    <ChangeButton
      label="Pause"
      title={`Pause ${name}?`}
      text="None of its runs starts in any process until it is resumed. Deliveries are received and stored, and running attempts finish."
      act={async (why) => {
        await change(`${path}/pause`, { body: why });
        return `${name} is paused.`;
      }}
    />
  );
}

function ProcessTable({ processes }: Pick<Handlers, 'processes'>) {
  if (processes.length === 0) return <Empty title="No process is known." />;
  const areDated = processes.some(({ heartbeatAt }) => heartbeatAt !== undefined);
  const shown = areDated ? processColumns : processColumns.filter(({ head }) => head !== 'Last heartbeat');
  return <Table label="Processes" columns={shown} rows={processes} keyOf={({ id }) => id} />;
}

const processColumns: readonly Column<Handlers['processes'][number]>[] = [
  {
    head: 'Process',
    cell: ({ id, isThis }) => (
      <>
        <code>{id}</code> {isThis && <span class="faint">this one</span>}
      </>
    ),
  },
  { head: 'Machine', cell: ({ host }) => <Foreign text={host} /> },
  { head: 'PID', cell: ({ pid }) => pid ?? '–', looks: 'count' },
  { head: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
  { head: 'Last heartbeat', cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
  { head: 'Handlers', cell: ({ handlers }) => <Foreign text={handlers.join(', ')} />, looks: 'wide' },
];
