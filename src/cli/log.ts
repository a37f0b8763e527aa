import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { standStill, systemClock } from '../kit/clock.ts';
import { Telemetry } from '../telemetry.ts';
import { LogOutput } from './log-output.ts';

/** Signals that end a process without an `exit`, unless somebody listens: a terminal was closed, or asked it to quit. */
const sudden = ['SIGHUP', 'SIGQUIT'] as const;

/**
 * The log of the command, on stdout. However the process ends, what was logged is written first, unless it is by
 * SIGKILL, a signal that nobody hears, or a crash of Node itself: they take the last tenth of a second along.
 */
export function openLog(level: string): Logger {
  // A terminal shows each line as it comes, in order with what the app prints; and whoever has put something in the
  // place of stdout is to get the lines. Looking at stdout also makes a pipe one that never blocks.
  if (process.stdout.isTTY || Object.hasOwn(process.stdout, 'write')) return pino({ level });
  const output = new LogOutput({
    write: (bytes) => writeSync(1, bytes),
    clock: systemClock,
    sleep: standStill,
    tellDropped: (count) => new Telemetry(logger).tell('log_dropped', { count }),
  });
  const logger = pino({ level }, output);
  process.once('exit', () => output.end());
  for (const signal of sudden) process.once(signal, () => endBy(signal, output));
  return logger;
}

/** For the line that people and scripts wait for, whatever the log's level. */
export function atEveryLevel(logger: Logger): Logger {
  return logger.child({}, { level: 'info' });
}

/** Lets the signal do what it would have done, once the lines are written. */
function endBy(signal: NodeJS.Signals, output: LogOutput): void {
  // Where the app listens too, what the signal does is the app's affair.
  if (process.listenerCount(signal) > 0) return;
  output.end();
  process.kill(process.pid, signal);
}
