/** What happens at present, and what is stored, in figures. */
import { useCounts } from '../../api/counts.tsx';
import type { Backlog, Counts, HistoryPoint } from '../../api/shapes.ts';
import { type Counted, minute, useHistory } from '../../api/use-history.ts';
import { useResource } from '../../api/use-resource.ts';
import { duration, number } from '../../parts/format.ts';
import { Empty, Loaded } from '../../parts/standing.tsx';
import { linkTo } from '../../router.ts';
import { receivedIn } from './plots.tsx';

/** Of how many minutes the rates and durations are: in one minute, a single slow delivery would be the p99. */
const minutes = 5;
const during = `in the last ${minutes} minutes`;
const lastMinutes = { length: minutes * minute, step: minutes * minute, resolution: 'minute' } as const;

export function Figures() {
  const counts = useCounts();
  const backlog = useResource<Backlog>('/backlog', ['history']);
  const counted = useHistory(lastMinutes);
  return (
    <Loaded resource={counts}>
      {(stored) => (
        <>
          {isEmpty(stored) && (
            <Empty title="Nothing has arrived yet.">
              Subscribe the receiver's address to events. The first delivery appears here by itself; one whose
              signature is wrong appears in the quarantine.
            </Empty>
          )}
          <div class="figures">
            {counted.data && <Rates counted={counted.data} />}
            {backlog.data && <Waiting backlog={backlog.data} />}
            <NeedingAction counts={stored} />
            <Stored counts={stored} />
          </div>
        </>
      )}
    </Loaded>
  );
}

function isEmpty({ events, quarantine }: Counts): boolean {
  return events.new + events.open + events.done + quarantine.notAuthentic + quarantine.unreadable === 0;
}

function Rates({ counted: { points } }: { readonly counted: Counted }) {
  const [point] = points;
  return (
    <>
      <Figure label="Deliveries" value={aMinute(point && receivedIn(point))} unit="a minute">
        {during}, however they were answered
      </Figure>
      <Figure label="Attempts" value={aMinute(point && attemptsIn(point))} unit="a minute">
        {during}, of all handlers
      </Figure>
      <Took what="Time to answer" p50={point?.answerP50} p99={point?.answerP99} />
      <Took what="Time of an attempt" p50={point?.handlerP50} p99={point?.handlerP99} />
    </>
  );
}

function attemptsIn({ done, retried, dead }: HistoryPoint): number {
  return done + retried + dead;
}

/** A count of the last minutes as a rate. */
function aMinute(count = 0): string {
  const rate = count / minutes;
  return number(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate));
}

function Took({
  what,
  p50,
  p99,
}: {
  readonly what: string;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}) {
  if (p50 === undefined || p99 === undefined)
    return (
      <Figure label={what} value="–">
        none {during}
      </Figure>
    );
  return (
    <Figure label={what} value={duration(p99)} unit="p99">
      p50 {duration(p50)}, {during}
    </Figure>
  );
}

function Waiting({ backlog: { waiting, oldestWaiting } }: { readonly backlog: Backlog }) {
  return (
    <>
      <Figure label="Waiting now" value={number(waiting)} href={linkTo(['handlers'])}>
        events, and runs whose time has come
      </Figure>
      <Figure
        label="Oldest waiting"
        value={waiting === 0 ? '–' : duration(oldestWaiting)}
        href={linkTo(['handlers'])}
      >
        {waiting === 0 ? 'nothing waits' : 'since it arrived or was due'}
      </Figure>
    </>
  );
}

function NeedingAction({ counts: { runs, quarantine } }: { readonly counts: Counts }) {
  const kept = quarantine.notAuthentic + quarantine.unreadable;
  return (
    <>
      <Figure
        label="Dead letters"
        value={number(runs.dead)}
        href={linkTo(['failures'])}
        tone={runs.dead > 0 ? 'bad' : 'good'}
      >
        {runs.dead > 0 ? 'given up: replay or dismiss them' : 'no run was given up'}
      </Figure>
      <Figure
        label="Quarantine"
        value={number(kept)}
        href={linkTo(['quarantine'])}
        tone={kept > 0 ? 'warn' : 'good'}
      >
        {number(quarantine.notAuthentic)} not authentic, {number(quarantine.unreadable)} unreadable
        {quarantine.dropped > 0 && `, ${number(quarantine.dropped)} not kept`}
      </Figure>
    </>
  );
}

function Stored({ counts: { events, claims, runs } }: { readonly counts: Counts }) {
  return (
    <>
      <Figure label="New events" value={number(events.new)} href={linkTo(['events'], { state: 'new' })}>
        {number(claims.events)} claimed by a process, {number(events.new - claims.events)} waiting for one
      </Figure>
      <Figure label="Due runs" value={number(runs.due)} href={linkTo(['events'], { state: 'open' })}>
        now or later; {number(runs.running)} stored runs are being tried
      </Figure>
      <Figure label="Blocked runs" value={number(runs.blocked)} href={linkTo(['events'], { state: 'open' })}>
        wait for an earlier event of their call
      </Figure>
      <Figure label="Open events" value={number(events.open)} href={linkTo(['events'], { state: 'open' })}>
        with runs that are not settled; {number(events.done)} events are done
      </Figure>
    </>
  );
}

function Figure({
  label,
  value,
  unit,
  href,
  tone = 'plain',
  children,
}: {
  readonly label: string;
  readonly value: string;
  readonly unit?: string;
  readonly href?: string;
  readonly tone?: 'bad' | 'warn' | 'good' | 'plain';
  readonly children: preact.ComponentChildren;
}) {
  const content = (
    <>
      <span class="figure-label">{label}</span>
      <strong>
        {value} {unit !== undefined && <span class="unit">{unit}</span>}
      </strong>
      <span class="faint">{children}</span>
    </>
  );
  const looks = `figure tone-${tone}`;
  return href === undefined ? (
    <div class={looks}>{content}</div>
  ) : (
    <a class={looks} href={href}>
      {content}
    </a>
  );
}
