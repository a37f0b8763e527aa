import { useAccess } from '../api/access.ts';
import { change, withQuery } from '../api/client.ts';
import type { Deliveries } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { ChangeButton } from '../parts/change-button.tsx';
import { type Field, FilterForm } from '../parts/filter-form.tsx';
import { counted, size } from '../parts/format.ts';
import { Pages, pageSize } from '../parts/pages.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
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
              <DeliveryTable deliveries={deliveries} />
              <Pages view="quarantine" query={query} next={cursor} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function DeliveryTable({ deliveries }: Pick<Deliveries, 'deliveries'>) {
  return (
    <div class="table" role="region" aria-label="Deliveries in quarantine" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Arrived</th>
            <th scope="col">Delivery</th>
            <th scope="col">Kind</th>
            <th scope="col">Why</th>
            <th scope="col" class="count">
              Size
            </th>
            <th scope="col">Trace id, not verified</th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id}>
              <td>
                <Time at={delivery.receivedAt} />
              </td>
              <td>
                <a href={linkTo(['quarantine', delivery.id])}>Delivery {delivery.id}</a>
              </td>
              <td>
                <State state={delivery.kind} />
              </td>
              <td class="wide">{whyOf(delivery.reason).what}</td>
              <td class="count">{size(delivery.bytes)}</td>
              <td>
                <Foreign text={delivery.traceId} isCode />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

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
