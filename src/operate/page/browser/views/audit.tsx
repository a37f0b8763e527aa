import type { Audit, AuditEntry as Entry } from '../api/shapes.ts';
import type { Field } from '../parts/filter-form.tsx';
import { counted } from '../parts/format.ts';
import { RunningActions } from '../parts/running-actions.tsx';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/standing.tsx';
import type { Column } from '../parts/table.tsx';
import { Foreign, Terms, Time } from '../parts/text.tsx';
import type { Route } from '../router.ts';

const fields: readonly Field[] = [
  { name: 'since', label: 'Since', isTime: true },
  { name: 'until', label: 'Before', isTime: true },
];

export function AuditView({ query }: Route) {
  return (
    <>
      <h1 tabIndex={-1}>Audit</h1>
      <p class="faint">Who changed something or looked at a body, when, and why.</p>
      <RunningActions />
      <List
        view="audit"
        query={query}
        fields={fields}
        topics={['audit']}
        rowsOf={({ entries }: Audit) => entries}
        label="Audit"
        columns={columns}
        keyOf={({ id }) => id}
      >
        <Empty title={Object.keys(query).length > 0 ? 'No entry matches.' : 'Nobody has changed anything.'}>
          Replays, dismissals, releases, erasures, pauses, and looks at bodies are listed here.
        </Empty>
      </List>
    </>
  );
}

const standing = { running: ' so far', done: '', stopped: ', then stopped' };

/** How much an action changed, if it changes events or runs. */
function changed({ action, events, runs, finishedAt, progress }: Entry) {
  if (progress) return `${counted(runs, 'run')}${standing[progress.state]}`;
  if (finishedAt === undefined) return 'not finished';
  if (action === 'erase') return counted(events, 'event');
  if (action === 'release' || action === 'reverify' || action === 'discard')
    return counted(events, 'delivery', 'deliveries');
  return '';
}

const columns: readonly Column<Entry>[] = [
  { head: 'Id', cell: ({ id }) => id, looks: 'count' },
  { head: 'When', cell: ({ at }) => <Time at={at} /> },
  { head: 'Who', cell: ({ by }) => <Foreign text={by} /> },
  { head: 'Did', cell: ({ action }) => action },
  { head: 'To what', cell: ({ what }) => <Terms text={what} />, looks: 'wide' },
  { head: 'How many', cell: changed },
  { head: 'Why', cell: ({ reason }) => <Foreign text={reason} />, looks: 'wide' },
];
