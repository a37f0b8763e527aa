import { table } from './report.ts';

/** A target, and the figure that was reached. */
export interface Target {
  readonly name: string;
  /** Whether the figure must be at least or at most the value. */
  readonly bound: 'at least' | 'at most';
  readonly value: number;
  readonly unit?: string;
  readonly hoped?: number;
  /** NaN if it was not measured; infinite if it was awaited and never came. */
  readonly reached: number;
  /** Why a run that the figure comes from is not valid. */
  readonly problem?: string | undefined;
}

/** Lines of a markdown table: each target, what was reached, and whether that is enough. */
export function targetTable(targets: readonly Target[]): string[] {
  const rows = targets.map((target) => {
    const { name, bound, value, unit = '', hoped, reached } = target;
    const withUnit = (figure: number) => (unit === '' ? String(figure) : `${figure} ${unit}`);
    const hope = hoped === undefined ? '' : ` (hoped for: ${withUnit(hoped)})`;
    return [
      name,
      `${bound} ${withUnit(value)}${hope}`,
      Number.isFinite(reached) ? withUnit(rounded(reached)) : '',
      verdictOf(target),
    ];
  });
  return table(['target', 'bound', 'reached', 'met?'], rows);
}

function verdictOf({ bound, value, reached, problem }: Target): string {
  if (problem !== undefined) return `no: not valid (${problem})`;
  if (Number.isNaN(reached)) return 'no: not measured';
  if (reached === Infinity) return 'no: never';
  const isMet = bound === 'at least' ? reached >= value : reached <= value;
  return isMet ? 'yes' : 'no';
}

/** With three digits: one measurement on one machine is no more precise. */
function rounded(figure: number): number {
  return Math.abs(figure) >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}
