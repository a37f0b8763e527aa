import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { Registry } from '@prometheus-io/client';
import { describe, expect, test } from 'vitest';
import { collectMetrics } from '../../src/prometheus/index.ts';
import { made } from '../support/receiver.ts';

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly query: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

const file = new URL('../../examples/grafana/dashboard.json', import.meta.url);
const { panels, templating } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

/** What a query asks for: the names of metrics, and the labels by which it selects or groups. */
function askedIn(query: string) {
  // Grafana puts a duration in the place of its variable.
  const text = query.replaceAll('$__rate_interval', '1m');
  const asked = { names: new Set<string>(), labels: new Set<string>(), hasError: false };
  parser.parse(text).iterate({
    enter: (node) => {
      const { name, type } = node;
      const word = text.slice(node.from, node.to);
      if (type.isError) asked.hasError = true;
      if (name === 'Identifier' && node.matchContext(['VectorSelector'])) asked.names.add(word);
      if (name === 'LabelName') asked.labels.add(word);
    },
  });
  return asked;
}

/** Each name that a query may have, with its labels. */
async function offered() {
  const registry = new Registry();
  collectMetrics(made().receiver, registry);
  const known = new Map<string, ReadonlySet<string>>();
  for (const { name, type, labelNames } of registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string;
    readonly type: string;
    readonly labelNames: readonly string[];
  }[]) {
    const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => `${name}${end}`) : [name];
    for (const one of names)
      known.set(one, new Set(['job', ...labelNames, ...(one.endsWith('_bucket') ? ['le'] : [])]));
  }
  return known;
}

describe('the dashboard for Grafana', () => {
  test.each(queries)('asks for what there is: %s', async (_title, query) => {
    const known = await offered();
    const { names, labels, hasError } = askedIn(query);
    expect(hasError).toBe(false);
    expect(names.size).toBe(1);
    for (const name of names) {
      expect([...known.keys()]).toContain(name);
      for (const label of labels) expect([...(known.get(name) ?? [])]).toContain(label);
    }
  });

  test('shows every metric', async () => {
    const asked = new Set(queries.flatMap(([, query]) => [...askedIn(query).names]));
    const unused = [...(await offered()).keys()].filter(
      (name) => !asked.has(name) && !/_(sum|count)$/.test(name),
    );
    expect(unused).toEqual([]);
    expect(templating.list.map(({ query }) => query)).toContain('label_values(ringback_waiting, job)');
  });
});
