import { systemClock } from '../kit/clock.ts';

/**
 * How long after the first signal a SIGINT counts as a copy of it, in milliseconds. A terminal sends Ctrl-C to all of
 * its processes, and npm passes its own on.
 */
const echo = 250;

/**
 * Resolves at the first SIGTERM or SIGINT; a second one ends the process at once with 1. Call it before starting
 * anything: without a listener, process 1 of a container ignores these signals.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      const now = systemClock.elapsed();
      first ??= now;
      if (first === now) return resolve(signal);
      if (signal === 'SIGTERM' || now - first > echo) process.exit(1);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** Signals of a terminal that closes or quits. Without a listener, they end the process without an `exit` event. */
const sudden = ['SIGHUP', 'SIGQUIT'] as const;

/**
 * Calls `finish` before the process ends, unless it crashes or gets a signal that can't be handled. Returns a function
 * that removes the listeners.
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

/** Finishes, then lets the signal take its usual effect. */
function endBy(signal: NodeJS.Signals, finish: () => void): void {
  // If the app listens too, it decides what the signal does.
  if (process.listenerCount(signal) > 0) return;
  finish();
  process.kill(process.pid, signal);
}
