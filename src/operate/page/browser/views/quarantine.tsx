import { useAccess } from '../api/access.ts';
import { change, withQuery } from '../api/client.ts';
import type { Deliveries } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { ChangeButton } from '../parts/change-button.tsx';
import { type Field, FilterForm } from '../parts/filter-form.tsx';
import { counted, size } from '../parts/format.ts';
import { Pages, pageSize } from '../parts/pages.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
import { type Place, linkTo } from '../router.ts';
import { reasons, whyOf } from './quarantine-reasons.ts';

const fields: readonly Field[] = [
  { name: 'traceId', label: 'Trace id' },
  { name: 'kind', label: 'Kind', choices: ['not_authentic', 'unreadable'] },
  { name: 'reason', label: 'Reason', choices: reasons },
  { name: 'since', label: 'Arrived since', isTime: true },
  { name: 'until', label: 'Arrived before', isTime: true },
];

export function QuarantineView({ query }: Place) {
  const path = withQuery('/quarantine', { ...query, limit: pageSize });
  const resource = useResource<Deliveries>(path, ['quarantine']);
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>Quarantine</h1>
        <div class="buttons">
          <Reverify />
        </div>
      </div>
      <FilterForm view="quarantine" fields={fields} query={query} />
      <Loaded resource={resource}>
        {({ deliveries, cursor }) =>
          deliveries.length === 0 ? (
            <Empty
              title={Object.keys(query).length > 0 ? 'No delivery is like this.' : 'The quarantine is empty.'}
            >
              Deliveries whose signature is missing or wrong, and those that can't be read, are kept here.
              None of them has reached a handler.
            </Empty>
          ) : (
            <>
              <Table
                label="Deliveries in quarantine"
                columns={columns}
                rows={deliveries}
                keyOf={({ id }) => id}
              />
              <Pages view="quarantine" query={query} next={cursor} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

const columns: readonly Column<Deliveries['deliveries'][number]>[] = [
  { head: 'Arrived', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
  { head: 'Delivery', cell: ({ id }) => <a href={linkTo(['quarantine', id])}>Delivery {id}</a> },
  { head: 'Kind', cell: ({ kind }) => <State state={kind} /> },
  { head: 'Why', cell: ({ reason }) => whyOf(reason).what, looks: 'wide' },
  { head: 'Size', cell: ({ bytes }) => size(bytes), looks: 'count' },
  { head: 'Trace id, not verified', cell: ({ traceId }) => <Foreign text={traceId} isCode /> },
];

interface Reverified {
  readonly checked: number;
  readonly released: number;
  readonly duplicates: number;
  readonly remaining: number;
}

/** For after a secret that was wrong has been put right. */
function Reverify() {
  if (!useAccess().mayDo('quarantine')) return null;
  return (
    <ChangeButton
      label="Check all again"
      isPrimary
      title="Check every delivery again that was not authentic?"
      text="Each is verified with the present secrets. Those that verify become events, and their handlers run. The others stay."
      act={async (why) => {
        const { checked, released, duplicates, remaining } = await change<Reverified>(
          '/quarantine/reverify',
          {
            body: why,
          },
        );
        const copies = duplicates === 0 ? '' : `, ${counted(duplicates, 'was a copy', 'were copies')}`;
        return `Checked ${counted(checked, 'delivery', 'deliveries')}: ${released} released${copies}, ${remaining} remain.`;
      }}
    />
  );
}
