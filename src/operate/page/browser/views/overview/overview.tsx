import { RunningActions } from '../../parts/running-actions.tsx';
import type { Route } from '../../router.ts';
import { AlertList } from './alerts.tsx';
import { Figures } from './figures.tsx';
import { Plots } from './plots.tsx';

export function OverviewView({ query }: Route) {
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      <AlertList />
      <RunningActions />
      <Figures />
      <Plots range={query['range']} />
    </>
  );
}
