/**
 * How soon a second SIGINT counts as one of its own, in milliseconds. A terminal sends Ctrl-C to all of its
 * processes, and npm passes its own on besides.
 */
const echo = 250;

/**
 * Resolves at the first SIGTERM or SIGINT; a second one ends the process at once with 1. Call it before there is
 * anything to stop: whoever is process 1 of a container would otherwise not hear a signal at all.
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
