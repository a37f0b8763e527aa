import { table } from './report.ts';

/** Something to reach, and how far it was reached. */
export interface Target {
  readonly name: string;
  /** Which side of the bound counts. */
  readonly bound: 'at least' | 'at most';
  readonly value: number;
  readonly unit?: string;
  readonly hoped?: number;
  /** NaN where it was not measured; infinite for what was waited for and never came. */
  readonly reached: number;
  /** Why the figure doesn't count: a run behind it was not valid. */
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

/** Three digits are all that one sitting on one machine can tell. */
function rounded(figure: number): number {
  return Math.abs(figure) >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}
