import type { Meter, ObservableGauge } from '@opentelemetry/api';
import type { ActivityObserver } from '../kit/activity.ts';
import { type Receiver, backlogOf, clockOf } from '../receiver/receiver.ts';

/** The metrics of a receiver. Labels are names of handlers, outcomes and codes: nothing of an event. */
export function measure(receiver: Receiver, meter: Meter): ActivityObserver {
  const deliveries = meter.createCounter('ringback.deliveries', {
    description: 'Deliveries, by how they were answered.',
  });
  const answers = meter.createHistogram('ringback.answer.duration', {
    description: 'How long answers to deliveries took.',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5] },
  });
  const runs = meter.createCounter('ringback.runs', {
    description: 'Attempts of handlers, by how they ended.',
  });
  const durations = meter.createHistogram('ringback.run.duration', {
    description: 'How long attempts of handlers took.',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] },
  });
  observeBacklog(receiver, meter);
  return {
    answered(outcome, milliseconds) {
      const [kind = '', code] = outcome.split(':');
      deliveries.add(1, { outcome: kind, ...(code !== undefined && { code }) });
      answers.record(milliseconds / 1_000);
    },
    ran(handler, outcome, milliseconds) {
      runs.add(1, { handler, outcome });
      durations.record(milliseconds / 1_000, { handler });
    },
  };
}

/** What waits in the inbox is the same in all processes that share it. */
function observeBacklog(receiver: Receiver, meter: Meter): void {
  const waiting = meter.createObservableGauge('ringback.waiting', {
    description: 'Events and due runs that wait for a process.',
  });
  const oldest = meter.createObservableGauge('ringback.oldest_waiting', {
    description: 'How long the oldest of them has waited.',
    unit: 's',
  });
  const observe = async (result: { observe(gauge: ObservableGauge, value: number): void }) => {
    const backlog = await backlogOf(receiver).catch(() => undefined);
    if (!backlog) return;
    const waited = backlog.oldest === undefined ? 0 : clockOf(receiver).now() - backlog.oldest;
    result.observe(waiting, backlog.waiting);
    result.observe(oldest, Math.max(0, waited) / 1_000);
  };
  meter.addBatchObservableCallback(observe, [waiting, oldest]);
}
