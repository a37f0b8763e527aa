import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { type Clock, block, systemClock } from '../kit/clock.ts';
import { Telemetry } from '../receiver/telemetry.ts';
import type { Environment } from './environment.ts';
import { beforeEnd } from './signals.ts';

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
  beforeEnd(() => output.end());
  return logger;
}

/** The log of a command whose result goes to stdout, where programs read it: on stderr. */
export function logBesideResult({ RINGBACK_LOG_LEVEL: level = 'error' }: Environment): Logger {
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}

/** A logger that writes at every log level, for the line that people and scripts wait for. */
export function atEveryLevel(logger: Logger): Logger {
  return logger.child({}, { level: 'info' });
}

/** How long a line may wait for others, in milliseconds: so short that a person who reads along does not notice. */
export const flushInterval = 100;
/**
 * How soon to write again after the output took no more, in milliseconds. A pipe doesn't say when it has room again.
 */
export const retryInterval = 5;
/**
 * The most bytes in one write: what a pipe takes whole or not at all (PIPE_BUF), so that no other process can write
 * between two halves of a line.
 */
export const chunkSize = 4_096;
/** How many chunks to write one after the other, so that the reader is woken once for all that a pipe has room for. */
export const chunksTogether = 12;
/** The most bytes that wait for a slow reader: a second or two of the log at its busiest. */
export const capacity = 8 * 1024 * 1024;
/** How long `end` waits for a reader that takes nothing, in milliseconds. */
export const flushTimeout = 1_000;

/** The number of pino's level `warn`. */
const warning = 40;

export interface OutputParts {
  /** Writes as many of the bytes as can be written now, and returns how many. Throws if none can be written. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock: Clock;
  /** Waits without letting anything else run. */
  readonly sleep: (ms: number) => void;
  /** Logs that lines were dropped, once there is room again. */
  readonly reportDropped: (count: number) => void;
}

/**
 * Writes the log's lines, several at once, because each write costs a system call and wakes the reader. Warnings and
 * errors are written at once, with all lines before them. A reader that is slow or gone holds nothing up: lines that it
 * does not take wait, and lines beyond the capacity are dropped and counted.
 */
export class LogOutput {
  /** Asks pino for the level of each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  /** Set by pino before each line. */
  lastLevel = 0;
  readonly #parts: OutputParts;
  /** Whole chunks, in order. `#rest`, the end of a partly written chunk, comes before them. */
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

  /** Called by pino with one line of JSON. */
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

  /** Writes all that waits, as far as it can be written now. */
  flush(done?: () => void): void {
    this.#closeChunk();
    this.#drain();
    done?.();
  }

  /** Writes all that waits, and from now on each line at once: the process is about to end. */
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
      // Waits only for a reader that is slow (EAGAIN), and only while it still reads.
      if (problem?.code !== 'EAGAIN' || clock.elapsed() >= deadline) return;
      before = this.#held;
      sleep(retryInterval);
    }
  }

  #hasRoomFor(bytes: number): boolean {
    // After one line, all others are dropped until everything is written, so that there is one gap, logged once.
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

  /** Writes the whole chunks. Retries after any failure, since it may pass: a full disk, a pipe without a reader. */
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
