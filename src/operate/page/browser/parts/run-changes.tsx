/** Buttons to replay and to dismiss, for many views. */
import { useAccess } from '../api/access.ts';
import { change } from '../api/client.ts';
import type { ChangedRuns } from '../api/shapes.ts';
import { ChangeButton, type ChangeProps } from './change-button.tsx';
import { counted, numbered } from './format.ts';

/** A filter of events as the API takes it. */
export type Filter = Readonly<Record<string, string>>;

export interface ReplayOptions {
  readonly only?: string;
  /** Text if it isn't a number, which the API refuses. */
  readonly rate?: number | string;
}

/** The number of runs, in all and by handler. */
function inWords({ runs, events, handlers }: ChangedRuns): string {
  return `${counted(runs, 'run')} of ${counted(events, 'event')}${byHandler(handlers)}`;
}

/** The number of runs of each handler, in brackets. */
export function byHandler(handlers: ChangedRuns['handlers'] = {}): string {
  const each = Object.entries(handlers).map(([name, count]) => numbered(name, count));
  return each.length === 0 ? '' : ` (${each.join(', ')})`;
}

/** The result in a sentence. */
function said(name: 'Replay' | 'Dismissal', changed: ChangedRuns): string {
  if (changed.state === 'running')
    return `${name} begun: ${inWords(changed)} so far. The overview shows how far it has come.`;
  const done = name === 'Replay' ? 'Replayed' : 'Dismissed';
  return changed.state === 'stopped' ? `Stopped: ${inWords(changed)}.` : `${done}: ${inWords(changed)}.`;
}

/** How many runs the dry run has counted of an action that was begun in this tab; undefined if that is not known. */
export function countedBefore(id: number): number | undefined {
  return inTab((tab) => Number(tab.getItem(keyOf(id)))) || undefined;
}

/** Another inbox at the same origin has the same ids. */
const keyOf = (id: number) => `${location.pathname} ${id}`;

/** Browsers that block cookies block the storage of the tab, too. */
function inTab<T>(use: (tab: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

/** What a bulk action is called, by its name in the audit list. */
export const bulkNames = { replay: 'Replay', dismiss: 'Dismissal' } as const;

/** A change of the runs that match a filter. Its dialog shows what a dry run counts. */
function bulkChange(
  action: keyof typeof bulkNames,
  body: { readonly filter: Filter } & ReplayOptions,
  would: string,
  onDone?: () => void,
): Pick<ChangeProps, 'preview' | 'act'> {
  let found: ChangedRuns | undefined;
  return {
    preview: async (signal) => {
      found = await preview(action, body, signal);
      return found.runs === 0 ? undefined : `${inWords(found)} would be ${would}.`;
    },
    act: async (why) => {
      const changed = await change<ChangedRuns>(`/events/${action}`, { body: { ...body, ...why } });
      const { id } = changed;
      if (id !== undefined && found) inTab((tab) => tab.setItem(keyOf(id), String(found?.runs)));
      onDone?.();
      return said(bulkNames[action], changed);
    },
  };
}

function preview(
  action: keyof typeof bulkNames,
  body: { readonly filter: Filter } & ReplayOptions,
  signal: AbortSignal | undefined,
): Promise<ChangedRuns> {
  const reason = 'dry run';
  return change<ChangedRuns>(`/events/${action}`, { body: { ...body, reason, dryRun: true }, signal });
}

export function previewReplay(filter: Filter, options: ReplayOptions): Promise<ChangedRuns> {
  return preview('replay', { filter, ...options }, undefined);
}

/** Replays the events that match the filter. */
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
  /** Called once the replay has begun or is done. */
  readonly onDone?: () => void;
}) {
  if (!useAccess().mayDo('replay')) return null;
  return (
    <ChangeButton
      label={label}
      isPrimary={isPrimary}
      title={`Run ${what} again?`}
      text="Each event goes to the handlers that take it now, in order of arrival. Runs that are still open are left alone."
      {...bulkChange('replay', { filter, ...options }, 'run again', onDone)}
    />
  );
}

/** Dismisses the runs that match the filter: dead letters, or what is left of a removed handler. */
export function Dismiss({ filter, what }: { readonly filter: Filter; readonly what: string }) {
  if (!useAccess().mayDo('dismiss')) return null;
  return (
    <ChangeButton
      label="Dismiss"
      isReasonRequired
      title={`Dismiss ${what}?`}
      text="They count as done, and their handlers are not called. The reason is kept with each run."
      {...bulkChange('dismiss', { filter }, 'dismissed')}
    />
  );
}
