/** The signals that end the command. */

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

/** Signals of a terminal that is closed or asks to quit. Without a listener, no `exit` event comes before the end. */
const sudden = ['SIGHUP', 'SIGQUIT'] as const;

/**
 * Calls `finish` before the process ends, unless it ends by a signal that can't be listened to, or by a crash. Returns the
 * function that takes this back.
 */
export function beforeEnd(finish: () => void): () => void {
  const listeners = sudden.map((signal) => [signal, () => endBy(signal, finish)] as const);
  process.once('exit', finish);
  for (const [signal, listener] of listeners) process.once(signal, listener);
  return () => {
    process.off('exit', finish);
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}

/** Finishes, and then lets the signal do what it would have done. */
function endBy(signal: NodeJS.Signals, finish: () => void): void {
  // If the app listens too, it decides what the signal does.
  if (process.listenerCount(signal) > 0) return;
  finish();
  process.kill(process.pid, signal);
}
