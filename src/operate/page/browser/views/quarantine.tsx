import { useAccess } from '../api/access.ts';
import { change } from '../api/client.ts';
import type { Deliveries, Reverified } from '../api/shapes.ts';
import { ChangeButton } from '../parts/change-button.tsx';
import type { Field } from '../parts/filter-form.tsx';
import { counted, number, size } from '../parts/format.ts';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/standing.tsx';
import type { Column } from '../parts/table.tsx';
import { Foreign, State, Time } from '../parts/text.tsx';
import { type Route, linkTo } from '../router.ts';
import { reasons, whyOf } from './quarantine-reasons.ts';

const fields: readonly Field[] = [
  { name: 'traceId', label: 'Trace id' },
  { name: 'kind', label: 'Kind', choices: ['not_authentic', 'unreadable'] },
  { name: 'reason', label: 'Reason', choices: reasons },
  { name: 'since', label: 'Arrived since', isTime: true },
  { name: 'until', label: 'Arrived before', isTime: true },
];

export function QuarantineView({ query }: Route) {
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>Quarantine</h1>
        <div class="buttons">
          <Reverify />
        </div>
      </div>
      <List
        view="quarantine"
        query={query}
        fields={fields}
        topics={['quarantine']}
        rowsOf={({ deliveries }: Deliveries) => deliveries}
        label="Deliveries in quarantine"
        columns={columns}
        keyOf={({ id }) => id}
      >
        <Empty title={Object.keys(query).length > 0 ? 'No delivery matches.' : 'The quarantine is empty.'}>
          Deliveries whose signature is missing or wrong, and those that can't be read, are kept here. None of
          them has reached a handler.
        </Empty>
      </List>
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

/** For use after a wrong secret has been corrected. */
function Reverify() {
  if (!useAccess().mayDo('quarantine')) return null;
  return (
    <ChangeButton
      label="Check all again"
      isPrimary
      title="Verify every unauthenticated delivery again?"
      text="Each is verified with the current secrets. Those that verify become events, and their handlers run. The others stay."
      preview={async (signal) => {
        const body = { dryRun: true };
        const { checked, released } = await change<Reverified>('/quarantine/reverify', { body, signal });
        return `${number(released)} of ${counted(checked, 'delivery', 'deliveries')} would verify in the accepted schemes.`;
      }}
      act={async (why) => {
        const { checked, released, duplicates, remaining } = await change<Reverified>(
          '/quarantine/reverify',
          { body: why },
        );
        const copies = duplicates === 0 ? '' : `, ${counted(duplicates, 'duplicate')}`;
        const rest = counted(remaining, 'remains', 'remain');
        return `Checked ${counted(checked, 'delivery', 'deliveries')}: ${number(released)} released${copies}, ${rest}.`;
      }}
    />
  );
}
