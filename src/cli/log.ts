import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { block, systemClock } from '../kit/clock.ts';
import { Telemetry } from '../receiver/telemetry.ts';
import { LogOutput } from './log-output.ts';

/** Signals of a terminal that is closed or asks to quit. Without a listener, no `exit` event comes before the end. */
const sudden = ['SIGHUP', 'SIGQUIT'] as const;

/**
 * The log of the command, on stdout. All lines are written before the process ends, unless it ends by SIGKILL, by
 * another signal without a listener, or by a crash of Node itself: then the lines of the last tenth of a second are
 * lost.
 */
export function openLog(level: string): Logger {
  // On a terminal, each line is shown at once, in order with what the app prints. If stdout.write was replaced, the
  // replacement gets the lines. Accessing process.stdout also makes a pipe non-blocking.
  if (process.stdout.isTTY || Object.hasOwn(process.stdout, 'write')) return pino({ level });
  const output = new LogOutput({
    write: (bytes) => writeSync(1, bytes),
    clock: systemClock,
    sleep: block,
    reportDropped: (count) => new Telemetry(logger).report('log_dropped', { count }),
  });
  const logger = pino({ level }, output);
  process.once('exit', () => output.end());
  for (const signal of sudden) process.once(signal, () => endBy(signal, output));
  return logger;
}

/** A logger that writes at every log level, for the line that people and scripts wait for. */
export function atEveryLevel(logger: Logger): Logger {
  return logger.child({}, { level: 'info' });
}

/** Writes the lines, and then lets the signal do what it would have done. */
function endBy(signal: NodeJS.Signals, output: LogOutput): void {
  // If the app listens too, it decides what the signal does.
  if (process.listenerCount(signal) > 0) return;
  output.end();
  process.kill(process.pid, signal);
}
