import type { Meter, ObservableGauge } from '@opentelemetry/api';
import { type ActivityObserver, measures } from '../kit/activity.ts';
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
  observeBacklog(receiver, meter);
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

/** The part that waits in the inbox is the same in all processes that share it. */
function observeBacklog(receiver: Receiver, meter: Meter): void {
  const waiting = meter.createObservableGauge('ringback.waiting', {
    description: measures.waiting.help,
  });
  const oldest = meter.createObservableGauge('ringback.oldest_waiting', {
    description: measures.oldestWaiting.help,
    unit: 's',
  });
  const observe = async (result: { observe(gauge: ObservableGauge, value: number): void }) => {
    const backlog = await receiver.history.backlog().catch(() => undefined);
    if (!backlog) return;
    result.observe(waiting, backlog.waiting);
    result.observe(oldest, backlog.oldestWaiting / 1_000);
  };
  meter.addBatchObservableCallback(observe, [waiting, oldest]);
}
