import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import { configError } from '../errors/errors.ts';
import { describe, hasMethods } from '../errors/option-problems.ts';
import { type AnswerOutcome, type RunOutcome, measures } from '../kit/activity.ts';
import { inboxGauges, readInbox } from '../operate/gauges.ts';
import { type Receiver, internalsOf } from '../receiver/receiver.ts';

/**
 * Adds the metrics of a receiver to your registry, whose `metrics()` Prometheus scrapes. Counters and histograms are
 * per process; gauges are read from the inbox on each scrape, and are the same in all processes that share it. Labels
 * are names of handlers, outcomes and codes: nothing of an event.
 *
 * @throws Error if the registry has metrics of a receiver already: give each receiver of a process its own registry;
 * ConfigError for another value than a receiver or a registry
 * @example
 * import { collectMetrics } from 'ringback/prometheus';
 * collectMetrics(receiver, registry);
 * app.get('/metrics', async (_request, response) => {
 *   response.type(registry.contentType).send(await registry.metrics());
 * });
 */
export function collectMetrics<Transaction>(receiver: Receiver<Transaction>, registry: Registry): void {
  const plain = receiver as unknown as Receiver;
  const { activity } = internalsOf(plain).parts;
  if (!hasMethods(registry, ['registerMetric', 'metrics']))
    throw configError('option_invalid', {
      option: 'collectMetrics(registry)',
      expected: 'a Registry of @prometheus-io/client',
      found: describe(registry),
    });
  activity.observe(counters(registry));
  addGauges(plain, registry);
}

/** The metrics of what happens in this process. */
function counters(registry: Registry) {
  const registers = [registry];
  const deliveries = new Counter({
    name: 'ringback_deliveries_total',
    help: measures.deliveries.help,
    labelNames: ['outcome', 'code'],
    registers,
  });
  const answers = new Histogram({
    name: 'ringback_answer_duration_seconds',
    help: measures.answerDuration.help,
    buckets: [...measures.answerDuration.buckets],
    registers,
  });
  const runs = new Counter({
    name: 'ringback_runs_total',
    help: measures.runs.help,
    labelNames: ['handler', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'ringback_run_duration_seconds',
    help: measures.runDuration.help,
    labelNames: ['handler'],
    buckets: [...measures.runDuration.buckets],
    registers,
  });
  return {
    answered(outcome: AnswerOutcome, milliseconds: number): void {
      const [kind = '', code = ''] = outcome.split(':');
      deliveries.inc({ outcome: kind, code });
      answers.observe(milliseconds / 1_000);
    },
    ran(handler: string, outcome: RunOutcome, milliseconds: number): void {
      runs.inc({ handler, outcome });
      durations.observe({ handler }, milliseconds / 1_000);
    },
  };
}

/** The metrics of the inbox. */
function addGauges(receiver: Receiver, registry: Registry): void {
  const look = sharedWhileReading(() => readInbox(receiver));
  for (const { name, help, unit, label, valuesIn } of inboxGauges) {
    const gauge = new Gauge({
      name: `ringback_${name}${unit === 's' ? '_seconds' : ''}`,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [],
      async collect() {
        const found = await look().catch(() => undefined);
        // Without a reading nothing is reported: the last value would look as if all were well.
        this.reset();
        if (found) for (const { value, labels } of valuesIn(found)) this.set(labels, value);
        else if (label === undefined) this.set(Number.NaN);
      },
    });
    registry.registerMetric(gauge);
  }
}

/** All gauges are read at the same time, and share one look at the inbox. */
function sharedWhileReading<T>(look: () => Promise<T>): () => Promise<T> {
  let looking: Promise<T> | undefined;
  return () =>
    (looking ??= look().finally(() => {
      looking = undefined;
    }));
}
