/** The raised alerts, with links to the views where a person can act on them. */
import type { Alerts } from '../../api/shapes.ts';
import { useResource } from '../../api/use-resource.ts';
import { Refused } from '../../parts/standing.tsx';
import { Time } from '../../parts/text.tsx';
import { linkTo } from '../../router.ts';
import { directed } from '../../parts/format.ts';

type Alert = Alerts['alerts'][number];

/** The view that helps with an alert, and the text of the link to it. */
const ways: Readonly<
  Record<string, (subject: string | undefined) => readonly [address: string, label: string]>
> = {
  dead_letters: () => [linkTo(['failures']), 'see why'],
  handler_failing: (handler) => [linkTo(['failures'], { handler }), 'see why'],
  failures_alike: (group) => [linkTo(['failures'], { group }), 'see them'],
  oldest_waiting: () => [linkTo(['handlers']), 'see for which handlers'],
  secret_suspected: () => [linkTo(['quarantine']), 'see them'],
  no_deliveries: () => [linkTo([], { range: 'day' }), 'see the last day'],
  drift: () => [linkTo(['drift']), 'see what'],
  disk: () => [linkTo(['handlers']), 'see on which machine'],
};

export function AlertList() {
  const { data, refusal, reload } = useResource<Alerts>('/alerts', ['alerts']);
  if (refusal && !data) return <Refused refusal={refusal} retry={reload} />;
  if (!data || data.alerts.length === 0) return undefined;
  return (
    <section aria-label="Alerts">
      <ul class="alerts">
        {data.alerts.map((alert) => (
          <li key={`${alert.name} ${alert.subject ?? ''}`}>
            <strong dir="auto">{directed(alert.message)}</strong>{' '}
            <span class="faint">
              since <Time at={alert.since} />
            </span>
            <Way alert={alert} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Way({ alert: { name, subject } }: { readonly alert: Alert }) {
  const way = ways[name]?.(subject);
  if (way === undefined) return undefined;
  const [address, label] = way;
  return (
    <>
      {' · '}
      <a href={address}>{label}</a>
    </>
  );
}
