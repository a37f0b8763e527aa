import type { Drift } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { number } from '../parts/format.ts';
import { Empty, Loaded } from '../parts/standing.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Foreign, Time } from '../parts/text.tsx';
import { linkTo } from '../router.ts';

export function DriftView() {
  const resource = useResource<Drift>('/drift', ['events']);
  return (
    <>
      <h1 tabIndex={-1}>Drift</h1>
      <p class="faint">How events differ from the platform's documentation. No values are stored.</p>
      <Loaded resource={resource}>
        {({ findings }) =>
          findings.length === 0 ? (
            <Empty title="All events match their documentation.">
              A field that is new, missing or of another type appears here before a handler stumbles over it.
            </Empty>
          ) : (
            <Table
              label="Differences"
              columns={columns}
              rows={findings}
              keyOf={({ eventName, path, kind }) => `${eventName} ${path} ${kind}`}
            />
          )
        }
      </Loaded>
    </>
  );
}

const columns: readonly Column<Drift['findings'][number]>[] = [
  {
    head: 'Event',
    cell: ({ eventName }) => (
      <a href={linkTo(['events'], { eventName })}>
        <Foreign text={eventName} />
      </a>
    ),
  },
  { head: 'Where', cell: ({ path }) => <Foreign text={path} isCode />, looks: 'wide' },
  { head: 'What differs', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { head: 'Events', cell: ({ count }) => number(count), looks: 'count' },
  { head: 'First seen', cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
  { head: 'Last seen', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
];
