/** Replaying and dismissing, which many views offer for what they show. */
import { useAccess } from '../api/access.ts';
import { change } from '../api/client.ts';
import type { ChangedRuns } from '../api/shapes.ts';
import { ChangeButton } from './change-button.tsx';
import { counted } from './format.ts';

/** Which events, as the API takes it. */
export type Filter = Readonly<Record<string, string>>;

export interface ReplayOptions {
  readonly only?: string;
  /** Text if it is no number: the API says so. */
  readonly rate?: number | string;
}

/** How many runs of which handlers. */
export function inWords({ runs, events, handlers }: ChangedRuns): string {
  const each = Object.entries(handlers).map(([name, count]) => `${name}: ${count}`);
  const which = each.length === 0 ? '' : ` (${each.join(', ')})`;
  return `${counted(runs, 'run')} of ${counted(events, 'event')}${which}`;
}

/** What has become of it. */
function said(name: 'Replay' | 'Dismissal', changed: ChangedRuns): string {
  if (changed.state === 'running')
    return `${name} begun: ${inWords(changed)} so far. The overview shows how far it has come.`;
  const done = name === 'Replay' ? 'Replayed' : 'Dismissed';
  return changed.state === 'stopped' ? `Stopped: ${inWords(changed)}.` : `${done}: ${inWords(changed)}.`;
}

/** Asks what a replay would run. */
export function previewReplay(
  filter: Filter,
  options: ReplayOptions = {},
  signal?: AbortSignal,
): Promise<ChangedRuns> {
  return change<ChangedRuns>('/events/replay', { body: { filter, ...options, dryRun: true }, signal });
}

/** Runs what the filter finds again. */
export function Replay({
  filter,
  options = {},
  what,
  label = 'Replay',
  isPrimary = true,
  onDone,
}: {
  readonly filter: Filter;
  readonly options?: ReplayOptions;
  readonly what: string;
  readonly label?: string;
  readonly isPrimary?: boolean;
  /** Called once it has begun or is done. */
  readonly onDone?: () => void;
}) {
  if (!useAccess().mayDo('replay')) return null;
  return (
    <ChangeButton
      label={label}
      isPrimary={isPrimary}
      title={`Run ${what} again?`}
      text="Each event goes to the handlers that take it now, in order of arrival. Runs that are still open are left alone."
      preview={async (signal) => {
        const found = await previewReplay(filter, options, signal);
        return found.runs === 0 ? undefined : `${inWords(found)} would be run again.`;
      }}
      act={async (why) => {
        const body = { filter, ...options, ...why };
        const replayed = await change<ChangedRuns>('/events/replay', { body });
        onDone?.();
        return said('Replay', replayed);
      }}
    />
  );
}

/** Marks dead letters done that nobody wants to be run. */
export function Dismiss({ filter, what }: { readonly filter: Filter; readonly what: string }) {
  if (!useAccess().mayDo('dismiss')) return null;
  return (
    <ChangeButton
      label="Dismiss"
      isReasonRequired
      title={`Dismiss ${what}?`}
      text="They count as done, and their handlers are not called. The reason is kept with each run."
      preview={async (signal) => {
        const body = { filter, reason: 'dry run', dryRun: true };
        const found = await change<ChangedRuns>('/events/dismiss', { body, signal });
        return found.runs === 0 ? undefined : `${inWords(found)} would be dismissed.`;
      }}
      act={async (why) => {
        const body = { filter, ...why };
        return said('Dismissal', await change<ChangedRuns>('/events/dismiss', { body }));
      }}
    />
  );
}
