/** The running replays and dismissals with their progress, and a button to stop each. */
import { useEffect, useState } from 'preact/hooks';
import { useAccess } from '../api/access.ts';
import { change } from '../api/client.ts';
import type { AuditEntry, Running, Stopped } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { ChangeButton } from './change-button.tsx';
import { counted, number } from './format.ts';
import { bulkNames, byHandler, countedBefore } from './run-changes.tsx';
import { Foreign, ForeignWords, Terms, Time } from './text.tsx';

const names: Readonly<Record<string, string>> = bulkNames;

export function RunningActions() {
  const [isAnyRunning, setAnyRunning] = useState(false);
  // Events change the progress of what is running, and nothing else here.
  const { data } = useResource<Running>('/audit/running', isAnyRunning ? ['audit', 'events'] : ['audit']);
  const isAnyListed = data !== undefined && data.entries.length > 0;
  useEffect(() => setAnyRunning(isAnyListed), [isAnyListed]);
  if (!isAnyListed) return null;
  return (
    <section class="outcome in-progress" aria-label="In progress">
      <h2>In progress</h2>
      {data.entries.map((entry) => (
        <RunningAction key={entry.id} entry={entry} />
      ))}
    </section>
  );
}

function RunningAction({
  entry: { id, action, at, by, what, runs, progress },
}: {
  readonly entry: AuditEntry;
}) {
  const name = `${names[action] ?? action} ${id}`;
  const { share, ofRuns, ofEvents } = comeTo(runs, countedBefore(id), progress?.share ?? 0);
  return (
    <div class="running">
      <p>
        <strong>{name}</strong> <Terms text={what} /> <span class="faint">since</span> <Time at={at} />
        {by !== undefined && (
          <>
            {' '}
            <span class="faint">by</span> <Foreign text={by} />
          </>
        )}
      </p>
      <progress max={1} value={share} aria-label={name} />
      <p>
        {ofRuns} so far
        <ForeignWords text={byHandler(progress?.handlers)} />
        {ofEvents}
      </p>
      <Stop id={id} name={name} needs={action === 'dismiss' ? 'dismiss' : 'replay'} />
    </div>
  );
}

/**
 * How far an action has come, as its bar and its text say: by the runs that its dry run has counted, or else by the
 * events. Runs that have become dead letters since the dry run may make them more.
 */
function comeTo(runs: number, total: number | undefined, shareOfEvents: number) {
  if (total !== undefined && runs <= total)
    return { share: runs / total, ofRuns: `${number(runs)} of ${counted(total, 'run')}`, ofEvents: '' };
  const percent = `${Math.floor(shareOfEvents * 100)} %`;
  return {
    share: shareOfEvents,
    ofRuns: counted(runs, 'run'),
    ofEvents: `, ${percent} of the way through the events`,
  };
}

function Stop({
  id,
  name,
  needs,
}: {
  readonly id: number;
  readonly name: string;
  readonly needs: 'replay' | 'dismiss';
}) {
  if (!useAccess().mayDo(needs)) return null;
  return (
    <ChangeButton
      label="Stop"
      title={`Stop ${name.toLowerCase()}?`}
      text="What it has changed stays changed. The remaining events are left alone."
      act={async (why) => {
        const { stopped } = await change<Stopped>(`/audit/${id}/stop`, { body: why });
        return stopped ? `${name} was stopped.` : `${name} had already ended.`;
      }}
    />
  );
}
