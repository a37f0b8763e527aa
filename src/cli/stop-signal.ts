/**
 * How long after the first signal a SIGINT is taken for a copy of it, in milliseconds. A terminal sends Ctrl-C to all
 * of its processes, and npm passes on the one that it gets.
 */
const echo = 250;

/**
 * Resolves at the first SIGTERM or SIGINT; a second one ends the process at once with 1. Call it before anything is
 * started: without a listener, process 1 of a container ignores these signals.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      const now = performance.now();
      first ??= now;
      if (first === now) return resolve(signal);
      if (signal === 'SIGTERM' || now - first > echo) process.exit(1);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
