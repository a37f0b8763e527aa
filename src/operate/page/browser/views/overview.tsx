import type { Counts } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { number } from '../parts/format.ts';
import { RunningActions } from '../parts/running-actions.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { type Place, linkTo } from '../router.ts';
import { AlertList } from './alerts.tsx';
import { Plots } from './plots.tsx';

export function OverviewView({ query }: Place) {
  const resource = useResource<Counts>('/counts', ['events', 'quarantine', 'failures', 'handlers']);
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      <AlertList />
      <RunningActions />
      <Loaded resource={resource}>{(counts) => <Figures counts={counts} />}</Loaded>
      <Plots range={query['range'] ?? 'hour'} />
    </>
  );
}

function Figures({ counts: { events, claims, runs, quarantine } }: { readonly counts: Counts }) {
  const kept = quarantine.notAuthentic + quarantine.unreadable;
  const isEmpty = events.new + events.open + events.done + kept === 0;
  return (
    <>
      {isEmpty && (
        <Empty title="Nothing has arrived yet.">
          Subscribe the receiver's address to events. The first delivery appears here by itself; one whose
          signature is wrong appears in the quarantine.
        </Empty>
      )}
      <div class="figures">
        <Figure
          label="Dead letters"
          value={runs.dead}
          href={linkTo(['failures'])}
          tone={runs.dead > 0 ? 'bad' : 'good'}
        >
          {runs.dead > 0 ? 'given up: replay or dismiss them' : 'no run was given up'}
        </Figure>
        <Figure
          label="Quarantine"
          value={kept}
          href={linkTo(['quarantine'])}
          tone={kept > 0 ? 'warn' : 'good'}
        >
          {number(quarantine.notAuthentic)} not authentic, {number(quarantine.unreadable)} unreadable
          {quarantine.dropped > 0 && `, ${number(quarantine.dropped)} not kept`}
        </Figure>
        <Figure label="New events" value={events.new} href={linkTo(['events'], { state: 'new' })}>
          {number(claims.events)} claimed by a process, {number(events.new - claims.events)} waiting for one
        </Figure>
        <Figure label="Due runs" value={runs.due} href={linkTo(['events'], { state: 'open' })}>
          wait for their next attempt
        </Figure>
        <Figure label="Running" value={runs.running} href={linkTo(['events'], { state: 'open' })}>
          stored runs that are being tried
        </Figure>
        <Figure label="Blocked runs" value={runs.blocked} href={linkTo(['events'], { state: 'open' })}>
          wait for an earlier event of their call
        </Figure>
        <Figure label="Open events" value={events.open} href={linkTo(['events'], { state: 'open' })}>
          with runs that are not settled
        </Figure>
        <Figure label="Done events" value={events.done} href={linkTo(['events'], { state: 'done' })}>
          every handler has settled
        </Figure>
      </div>
    </>
  );
}

function Figure({
  label,
  value,
  href,
  tone = 'plain',
  children,
}: {
  readonly label: string;
  readonly value: number;
  readonly href: string;
  readonly tone?: 'bad' | 'warn' | 'good' | 'plain';
  readonly children: preact.ComponentChildren;
}) {
  return (
    <a class={`figure tone-${tone}`} href={href}>
      <span class="figure-label">{label}</span>
      <strong>{number(value)}</strong>
      <span class="faint">{children}</span>
    </a>
  );
}
