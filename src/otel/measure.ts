import type { BatchObservableResult, Meter } from '@opentelemetry/api';
import { type ActivityObserver, measures } from '../kit/activity.ts';
import { inboxGauges, readInbox } from '../operate/gauges.ts';
import type { Receiver } from '../receiver/receiver.ts';
import { withoutThrowing } from './without-throwing.ts';

/** The metrics of a receiver. Labels are names of handlers, outcomes and codes, and nothing of an event. */
export function measure(receiver: Receiver, meter: Meter): ActivityObserver {
  const deliveries = meter.createCounter('ringback.deliveries', {
    description: measures.deliveries.help,
  });
  const answers = meter.createHistogram('ringback.answer.duration', {
    description: measures.answerDuration.help,
    unit: 's',
    advice: { explicitBucketBoundaries: [...measures.answerDuration.buckets] },
  });
  const runs = meter.createCounter('ringback.runs', {
    description: measures.runs.help,
  });
  const durations = meter.createHistogram('ringback.run.duration', {
    description: measures.runDuration.help,
    unit: 's',
    advice: { explicitBucketBoundaries: [...measures.runDuration.buckets] },
  });
  observeInbox(receiver, meter);
  return {
    answered(outcome, milliseconds) {
      const [kind = '', code] = outcome.split(':');
      withoutThrowing(() => {
        deliveries.add(1, { outcome: kind, ...(code !== undefined && { code }) });
        answers.record(milliseconds / 1_000);
      });
    },
    ran(handler, outcome, milliseconds) {
      withoutThrowing(() => {
        runs.add(1, { handler, outcome });
        durations.record(milliseconds / 1_000, { handler });
      });
    },
  };
}

/** What is in the inbox is the same in all processes that share it. */
function observeInbox(receiver: Receiver, meter: Meter): void {
  const gauges = inboxGauges.map(({ name, help, unit, valuesIn }) => ({
    gauge: meter.createObservableGauge(`ringback.${name}`, { description: help, ...(unit && { unit }) }),
    valuesIn,
  }));
  const observe = async (result: BatchObservableResult) => {
    const found = await readInbox(receiver).catch(() => undefined);
    if (!found) return;
    for (const { gauge, valuesIn } of gauges)
      for (const { value, labels } of valuesIn(found)) result.observe(gauge, value, labels);
  };
  meter.addBatchObservableCallback(
    observe,
    gauges.map(({ gauge }) => gauge),
  );
}
