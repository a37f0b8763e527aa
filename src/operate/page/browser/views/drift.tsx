import type { Drift } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { number } from '../parts/format.ts';
import { Empty, Loaded } from '../parts/standing.tsx';
import { Foreign, Time } from '../parts/text.tsx';
import { linkTo } from '../router.ts';

export function DriftView() {
  const resource = useResource<Drift>('/drift', ['events']);
  return (
    <>
      <h1 tabIndex={-1}>Drift</h1>
      <p class="faint">How what the platform sends differs from what it documents. No value is kept.</p>
      <Loaded resource={resource}>
        {({ findings }) =>
          findings.length === 0 ? (
            <Empty title="Everything is as it is documented.">
              A field that is new, missing or of another type appears here before a handler stumbles over it.
            </Empty>
          ) : (
            <Findings findings={findings} />
          )
        }
      </Loaded>
    </>
  );
}

function Findings({ findings }: Drift) {
  return (
    <div class="table" role="region" aria-label="Differences" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Where</th>
            <th scope="col">What differs</th>
            <th scope="col" class="count">
              Events
            </th>
            <th scope="col">First seen</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {findings.map(({ eventName, path, kind, count, firstSeenAt, lastSeenAt }) => (
            <tr key={`${eventName} ${path} ${kind}`}>
              <td>
                <a href={linkTo(['events'], { eventName })}>
                  <Foreign text={eventName} />
                </a>
              </td>
              <td class="wide">
                <Foreign text={path} isCode />
              </td>
              <td>{kind.replaceAll('_', ' ')}</td>
              <td class="count">{number(count)}</td>
              <td>
                <Time at={firstSeenAt} />
              </td>
              <td>
                <Time at={lastSeenAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
