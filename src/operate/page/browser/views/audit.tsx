import { withQuery } from '../api/client.ts';
import type { Audit } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { type Field, FilterForm } from '../parts/filter-form.tsx';
import { number } from '../parts/format.ts';
import { Pages, pageSize } from '../parts/pages.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { Foreign, Time } from '../parts/text.tsx';
import type { Place } from '../router.ts';

const fields: readonly Field[] = [
  { name: 'since', label: 'Since', isTime: true },
  { name: 'until', label: 'Before', isTime: true },
];

export function AuditView({ query }: Place) {
  const path = withQuery('/audit', { ...query, limit: pageSize });
  const resource = useResource<Audit>(path, ['events', 'quarantine', 'handlers', 'calls']);
  return (
    <>
      <h1 tabIndex={-1}>Audit</h1>
      <p class="faint">Who changed something or looked at a body, when, and why.</p>
      <FilterForm view="audit" fields={fields} query={query} />
      <Loaded resource={resource}>
        {({ entries, cursor }) =>
          entries.length === 0 ? (
            <Empty title="Nobody has changed anything.">
              Replays, dismissals, releases, erasures, pauses, and looks at bodies are listed here.
            </Empty>
          ) : (
            <>
              <Entries entries={entries} />
              <Pages view="audit" query={query} next={cursor} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function Entries({ entries }: Pick<Audit, 'entries'>) {
  return (
    <div class="table" role="region" aria-label="Audit" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">Did</th>
            <th scope="col">To what</th>
            <th scope="col" class="count">
              How many
            </th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ id, at, by, action, what, count, reason }) => (
            <tr key={id}>
              <td>
                <Time at={at} />
              </td>
              <td>
                <Foreign text={by} />
              </td>
              <td>{action}</td>
              <td class="wide">
                <Foreign text={what} />
              </td>
              <td class="count">{count === undefined ? '' : number(count)}</td>
              <td class="wide">
                <Foreign text={reason} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
