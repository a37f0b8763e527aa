import { useAccess } from '../api/access.ts';
import { useCounts } from '../api/counts.tsx';
import type { Counts } from '../api/shapes.ts';
import { linkTo } from '../router.ts';
import { number } from './format.ts';

interface Entry {
  readonly view: string;
  readonly label: string;
  readonly action?: 'replay';
  readonly countOf?: (counts: Counts) => number;
  /** The colour of the count: the same as on the overview. */
  readonly tone?: 'bad' | 'warn';
}

const entries: readonly Entry[] = [
  { view: '', label: 'Overview' },
  { view: 'events', label: 'Events' },
  { view: 'calls', label: 'Calls' },
  { view: 'failures', label: 'Failures', countOf: ({ runs }) => runs.dead, tone: 'bad' },
  { view: 'replay', label: 'Replay', action: 'replay' },
  {
    view: 'quarantine',
    label: 'Quarantine',
    countOf: ({ quarantine }) => quarantine.notAuthentic + quarantine.unreadable,
    tone: 'warn',
  },
  { view: 'handlers', label: 'Handlers' },
  { view: 'drift', label: 'Drift' },
  { view: 'audit', label: 'Audit' },
];

const changes = ['replay', 'dismiss', 'quarantine', 'erase', 'pause'] as const;

export function Navigation({ view }: { readonly view: string }) {
  const { mayDo, by } = useAccess();
  const { data: counts } = useCounts();
  const shown = entries.filter(({ action }) => !action || mayDo(action));
  return (
    <header class="side">
      <div class="side-inner">
        <a class="brand" href={linkTo([])}>
          Ringback
        </a>
        <nav aria-label="Views">
          <ul>
            {shown.map((entry) => {
              const count = counts && entry.countOf ? entry.countOf(counts) : 0;
              return (
                <li key={entry.view}>
                  <a
                    href={linkTo(entry.view === '' ? [] : [entry.view])}
                    aria-current={entry.view === view ? 'page' : undefined}
                  >
                    {entry.label}
                    {count > 0 && <span class={`badge badge-${entry.tone}`}>{number(count)}</span>}
                  </a>
                </li>
              );
            })}
          </ul>
        </nav>
        <p class="who faint">
          {by !== undefined && <span dir="auto">{by}</span>}
          {!changes.some(mayDo) && <span>read only</span>}
        </p>
      </div>
    </header>
  );
}
