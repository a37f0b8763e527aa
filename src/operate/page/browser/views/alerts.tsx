/** The raised alerts, with links to the views where a person can act on them. */
import type { Alerts } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { Time } from '../parts/text.tsx';
import { linkTo } from '../router.ts';

type Alert = Alerts['alerts'][number];

/** The view for each alert, and the text of its link. */
const ways: Readonly<Record<string, readonly [view: string, label: string]>> = {
  dead_letters: ['failures', 'see why'],
  handler_failing: ['failures', 'see why'],
  failures_alike: ['failures', 'see them'],
  oldest_waiting: ['handlers', 'see for which handlers'],
  secret_suspected: ['quarantine', 'see them'],
  drift: ['drift', 'see what'],
};

export function AlertList() {
  const { data } = useResource<Alerts>('/alerts', ['alerts']);
  if (!data || data.alerts.length === 0) return undefined;
  return (
    <section aria-label="Alerts">
      <ul class="alerts">
        {data.alerts.map((alert) => (
          <li key={`${alert.name} ${alert.subject ?? ''}`}>
            <strong dir="auto">{alert.message}</strong>{' '}
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
  const [view, label] = ways[name] ?? [];
  if (view === undefined) return undefined;
  const query = name === 'handler_failing' && subject !== undefined ? { handler: subject } : {};
  return (
    <>
      {' · '}
      <a href={linkTo([view], query)}>{label}</a>
    </>
  );
}
