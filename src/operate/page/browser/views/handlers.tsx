import { useAccess } from '../api/access.ts';
import { change, pathOf } from '../api/client.ts';
import type { HandlerState, Handlers } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { ChangeButton } from '../parts/change-button.tsx';
import { counted, duration, number } from '../parts/format.ts';
import { Empty, Loaded } from '../parts/standing.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
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

function HandlerTable({ handlers }: Pick<Handlers, 'handlers'>) {
  const mayPause = useAccess().mayDo('pause');
  return (
    <div class="table" role="region" aria-label="Handlers" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Handler</th>
            <th scope="col">State</th>
            {mayPause && <th scope="col">Change</th>}
            <th scope="col" class="count">
              Due
            </th>
            <th scope="col" class="count">
              Running
            </th>
            <th scope="col" class="count">
              Blocked
            </th>
            <th scope="col" class="count">
              Dead
            </th>
            <th scope="col">Takes</th>
            <th scope="col">How</th>
          </tr>
        </thead>
        <tbody>
          {handlers.map((handler) => (
            <HandlerRow key={handler.name} handler={handler} mayPause={mayPause} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function HandlerRow({ handler, mayPause }: { readonly handler: HandlerState; readonly mayPause: boolean }) {
  const { name, pause, isRegistered, due, running, blocked, dead, settings } = handler;
  return (
    <tr>
      <td>
        <a href={linkTo(['events'], { handler: name })}>
          <Foreign text={name} />
        </a>
      </td>
      <td>
        <State state={pause ? 'paused' : isRegistered ? 'alive' : 'not registered'} />
        {pause && (
          <div class="faint">
            since <Time at={pause.since} />
            {pause.by !== undefined && (
              <>
                {' '}
                by <span dir="auto">{pause.by}</span>
              </>
            )}
            {pause.reason !== undefined && <div dir="auto">{pause.reason}</div>}
          </div>
        )}
      </td>
      {mayPause && (
        <td>
          <PauseOrResume name={name} isPaused={pause !== undefined} />
        </td>
      )}
      <td class="count">{number(due)}</td>
      <td class="count">{number(running)}</td>
      <td class="count">{number(blocked)}</td>
      <td class="count">
        {dead === 0 ? '0' : <a href={linkTo(['failures'], { handler: name })}>{number(dead)}</a>}
      </td>
      <td class="wide">
        {settings && <Foreign text={(settings.join?.events ?? settings.patterns).join(', ')} />}
      </td>
      <td>{settings && <Settings settings={settings} />}</td>
    </tr>
  );
}

function Settings({ settings }: Required<Pick<HandlerState, 'settings'>>) {
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
      text="Its runs that have waited begin, in all processes."
      act={async (why) => {
        await change(`${path}/resume`, { body: why });
        return `${name} runs again.`;
      }}
    />
  ) : (
    <ChangeButton
      label="Pause"
      title={`Pause ${name}?`}
      text="No run of it begins in any process until it is resumed. Deliveries are received and kept, and those that run come to their end."
      act={async (why) => {
        await change(`${path}/pause`, { body: why });
        return `${name} is paused.`;
      }}
    />
  );
}

function ProcessTable({ processes }: Pick<Handlers, 'processes'>) {
  if (processes.length === 0) return <Empty title="No process is known." />;
  return (
    <div class="table" role="region" aria-label="Processes" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">Handlers</th>
          </tr>
        </thead>
        <tbody>
          {processes.map(({ id, handlers, isThis }) => (
            <tr key={id}>
              <td>
                <code>{id}</code> {isThis && <span class="faint">this one</span>}
              </td>
              <td class="wide">
                <Foreign text={handlers.join(', ')} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
