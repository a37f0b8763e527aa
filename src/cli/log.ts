/**
 * Writes the command's log. Not by pino's own destination, sonic-boom: while a write is in flight its `flush` does
 * nothing, so that a warning waits for the next one, and its `flushSync` repeats a write that fails with EPIPE for ever,
 * so that a command whose reader has left never ends.
 */
import { writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import { type Clock, block, systemClock } from '../kit/clock.ts';
import { Telemetry } from '../receiver/telemetry.ts';
import type { Environment } from './environment.ts';
import { beforeEnd } from './signals.ts';
import { onOutputFailure } from './stderr.ts';

/**
 * The log of the command, on stdout. All lines are written before the process ends, except those of the last tenth of a
 * second if it ends by SIGKILL, by another signal without a listener, or by a crash of Node itself.
 */
export function openLog(level: string): Logger {
  // What the app prints may be lost, as lines may: only a command whose result is lost has failed.
  process.stdout.off('error', onOutputFailure).on('error', () => {});
  // If stdout.write was replaced, the replacement gets the lines. Accessing process.stdout also makes a pipe
  // non-blocking.
  if (Object.hasOwn(process.stdout, 'write')) return pino({ level });
  // A terminal gets each line at once.
  if (process.stdout.isTTY) return pino({ level }, terminalOutput());
  const output = new LogOutput({
    write: (bytes) => writeSync(1, bytes),
    clock: systemClock,
    sleep: block,
    reportDropped: (count) => new Telemetry(logger).report('log_dropped', { count }),
  });
  const logger = pino({ level }, output);
  beforeEnd(() => output.end());
  return logger;
}

/**
 * Drops lines once the terminal has closed, such as that of a background process. The error would end the process, and
 * sonic-boom would then repeat the write for ever, so that the process neither answers nor ends.
 */
function terminalOutput(): DestinationStream {
  const output = pino.destination(1);
  output.on('error', () => Object.assign(output, { write: () => true, flushSync: () => {} }));
  return output;
}

/** The log on stderr of a command whose result goes to stdout, where programs read it. */
export function logBesideResult({ RINGBACK_LOG_LEVEL: level = 'error' }: Environment): Logger {
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}

/** A logger for lines that people and scripts wait for: it writes them at every log level. */
export function atEveryLevel(logger: Logger): Logger {
  return logger.child({}, { level: 'info' });
}

/** How long a line may wait for others, in milliseconds: too short to be noticed. */
export const flushInterval = 100;
/** The pause before a retry when the output is full, in milliseconds: a pipe doesn't report when it has room again. */
export const retryInterval = 5;
/** The most bytes in one write: a pipe takes up to PIPE_BUF atomically, so no other process can write into a line. */
export const chunkSize = 4_096;
/** How many chunks to write together, so that the reader wakes once for all that fits into the pipe. */
export const chunksTogether = 12;
/** The most bytes that wait for a slow reader: a second or two of the busiest log. */
export const capacity = 8 * 1024 * 1024;
/** How long `end` waits for a reader that reads nothing, in milliseconds. */
export const flushTimeout = 1_000;

const warning = 40;

interface OutputParts {
  /** Writes as many of the bytes as can be written now, and returns how many. Throws if none can be written. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock: Clock;
  readonly sleep: (ms: number) => void;
  /** Logs that lines were dropped, once there is room again. */
  readonly reportDropped: (count: number) => void;
}

/**
 * Writes log lines in batches, because each write costs a system call and wakes the reader. Warnings and errors are
 * written at once, with all lines before them. A slow or vanished reader blocks nothing: unread lines wait, and lines
 * beyond the capacity are dropped and counted.
 */
export class LogOutput {
  /** Asks pino for the level of each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  /** Set by pino before each line. */
  lastLevel = 0;
  readonly #parts: OutputParts;
  /** Full chunks, in order. `#rest`, the end of a partly written chunk, precedes them. */
  readonly #chunks: string[] = [];
  #rest: Uint8Array = new Uint8Array();
  #chunk = '';
  #chunkBytes = 0;
  #held = 0;
  #dropped = 0;
  #isTimed = false;
  #isBlocked = false;
  #isEnding = false;

  constructor(parts: OutputParts) {
    this.#parts = parts;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (!this.#hasRoomFor(bytes)) {
      this.#dropped += 1;
      return;
    }
    if (this.#chunkBytes + bytes > chunkSize) this.#closeChunk();
    this.#chunk += line;
    this.#chunkBytes += bytes;
    this.#held += bytes;
    if (this.lastLevel >= warning || this.#isEnding) return this.flush();
    if (this.#chunks.length >= chunksTogether) this.#drain();
    this.#flushLater();
  }

  /** Writes as many of the waiting lines as the output takes now. */
  flush(done?: () => void): void {
    this.#closeChunk();
    this.#drain();
    done?.();
  }

  /** Writes all waiting lines, and from now on each line at once, because the process is about to end. */
  end(): void {
    const { clock, sleep } = this.#parts;
    this.#isEnding = true;
    this.#isBlocked = false;
    this.#closeChunk();
    let deadline = clock.elapsed() + flushTimeout;
    let before = this.#held;
    for (;;) {
      const problem = this.#drain();
      if (this.#held < before) deadline = clock.elapsed() + flushTimeout;
      // Waits only for a slow reader (EAGAIN), and only while it makes progress.
      if (problem?.code !== 'EAGAIN' || clock.elapsed() >= deadline) return;
      before = this.#held;
      sleep(retryInterval);
    }
  }

  #hasRoomFor(bytes: number): boolean {
    // After the first dropped line, all lines are dropped until everything is written, so that there is one gap, logged
    // once.
    if (this.#dropped > 0) return false;
    if (this.#held + bytes > capacity) this.flush();
    return this.#held === 0 || this.#held + bytes <= capacity;
  }

  #closeChunk(): void {
    if (this.#chunk === '') return;
    this.#chunks.push(this.#chunk);
    this.#chunk = '';
    this.#chunkBytes = 0;
  }

  #flushLater(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#parts.clock.after(flushInterval, () => {
      this.#isTimed = false;
      this.flush();
    });
  }

  /** Writes the full chunks. Retries after any failure, which may be temporary: a full disk, no reader. */
  #drain(): NodeJS.ErrnoException | undefined {
    if (this.#isBlocked) return undefined;
    try {
      while (this.#rest.length > 0 || this.#chunks.length > 0) this.#writeSome();
    } catch (error) {
      if (!this.#isEnding) this.#retryLater();
      return error as NodeJS.ErrnoException;
    }
    this.#reportDropped();
    return undefined;
  }

  #retryLater(): void {
    this.#isBlocked = true;
    this.#parts.clock.after(retryInterval, () => {
      this.#isBlocked = false;
      this.flush();
    });
  }

  #writeSome(): void {
    if (this.#rest.length === 0) this.#rest = Buffer.from(this.#chunks.shift() ?? '');
    const written = this.#parts.write(this.#rest);
    this.#rest = this.#rest.subarray(written);
    this.#held -= written;
  }

  #reportDropped(): void {
    const count = this.#dropped;
    if (count === 0) return;
    this.#dropped = 0;
    this.#parts.reportDropped(count);
  }
}
