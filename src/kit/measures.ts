/** What is measured of a receiver, by whatever client: in sentences, and in which steps. Durations are in seconds. */
export const measures = {
  deliveries: { help: 'Deliveries, by how they were answered, and by the code of a refusal.' },
  answerDuration: {
    help: 'How long answers to deliveries took.',
    // The platform waits one second for an answer.
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5],
  },
  runs: { help: 'Attempts of handlers, by how they ended: done, retried, dead.' },
  runDuration: {
    help: 'How long attempts of handlers took.',
    // An attempt may take 30 seconds by default.
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
  waiting: { help: 'Events and due runs that wait for a process.' },
  oldestWaiting: { help: 'How long the oldest of them has waited.' },
} as const;
