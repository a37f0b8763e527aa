import { table } from '../report.ts';
import { type Results, type ServerKey, figure, maxStall, problemsOf } from './results.ts';
import { servers } from './servers.ts';

/** A column that sets each server against another. */
export interface Relation {
  readonly head: string;
  readonly of: (server: ServerKey) => number;
}

/** Lines of a markdown table: what each server did. */
export function resultTable(results: Results, relation: Relation): string[] {
  const rows = [...results.keys()].map((key) => {
    const rate = figure(results, key, 'rate');
    return [
      servers[key].name,
      String(Math.round(rate)),
      rounded(relation.of(key), 2),
      rounded(figure(results, key, 'p50'), 2),
      rounded(figure(results, key, 'p99'), 2),
      rounded(maxStall(results, key), 1),
      rounded(figure(results, key, 'cpu'), 2),
      problemsOf(results, key) ?? 'yes',
    ];
  });
  const head = [
    'server',
    'deliveries/s',
    relation.head,
    'p50 ms',
    'p99 ms',
    'longest stall ms',
    "load's CPU",
    'valid',
  ];
  return table(head, rows);
}

/** The figure as text, empty if there is none. */
function rounded(value: number, digits: number): string {
  return Number.isNaN(value) ? '' : value.toFixed(digits);
}
