import { pino } from 'pino';
import type { Clock } from '../kit/clock.ts';

/** How long a line may wait for others, in milliseconds: what a person who reads along does not notice. */
export const flushInterval = 100;
/** How soon what would not take any more is tried again, in milliseconds. A full pipe says nothing when it is read. */
export const retryInterval = 5;
/**
 * How many bytes are written at once at most: what a pipe takes whole or not at all (PIPE_BUF), so that nothing that
 * others write to it comes in between the halves of a line.
 */
export const chunkSize = 4_096;
/** So many chunks are written one behind the other: the reader is woken once for all that a pipe has room for. */
export const chunksTogether = 12;
/** How many bytes wait at most for a reader that is late: a second or two of the log at its busiest. */
export const capacity = 8 * 1024 * 1024;
/** How long the end waits for a reader that takes nothing, in milliseconds. */
export const endPatience = 1_000;

/** The number of pino's level `warn`. */
const warning = 40;

/** What the output of the log works with. */
export interface OutputParts {
  /** Writes as many of the bytes as can be written now, and returns how many; throws when that is none. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock: Clock;
  /** Waits without letting anything else run. */
  readonly sleep: (ms: number) => void;
  /** Logs that lines were dropped, once there is room again. */
  readonly tellDropped: (count: number) => void;
}

/**
 * Where the log's lines go: several in one write, because each write costs a call of the system and wakes the reader.
 * Warnings and worse go out at once, with all before them. A reader that is late or gone holds nothing up: what it does
 * not take waits, and what is too much is dropped and counted.
 */
export class LogOutput {
  /** Asks pino for the level of each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  /** Set by pino before each line. */
  lastLevel = 0;
  readonly #parts: OutputParts;
  /** Whole chunks, in order; before them `#rest`, of which a part is written. */
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
    let deadline = clock.elapsed() + endPatience;
    let before = this.#held;
    for (;;) {
      const problem = this.#drain();
      if (this.#held < before) deadline = clock.elapsed() + endPatience;
      // Only one that is late is worth waiting for, and only while it still reads.
      if (problem?.code !== 'EAGAIN' || clock.elapsed() >= deadline) return;
      before = this.#held;
      sleep(retryInterval);
    }
  }

  #hasRoomFor(bytes: number): boolean {
    // Once one was dropped so are those after it, until all is written: the gap is one, and is told of once.
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

  /** Writes the whole chunks. Whatever the reason that it can't, it may pass: a full disk, a pipe without a reader. */
  #drain(): NodeJS.ErrnoException | undefined {
    if (this.#isBlocked) return undefined;
    try {
      while (this.#rest.length > 0 || this.#chunks.length > 0) this.#writeSome();
    } catch (error) {
      if (!this.#isEnding) this.#retryLater();
      return error as NodeJS.ErrnoException;
    }
    this.#tellDropped();
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

  #tellDropped(): void {
    const count = this.#dropped;
    if (count === 0) return;
    this.#dropped = 0;
    this.#parts.tellDropped(count);
  }
}
