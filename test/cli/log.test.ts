import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LogOutput,
  capacity,
  chunkSize,
  chunksTogether,
  flushTimeout,
  flushInterval,
  retryInterval,
} from '../../src/cli/log.ts';
import { ManualClock } from '../support/clock.ts';

const info = 30;
const warn = 40;

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** An output into a list. Of the bytes offered, its reader takes as many as `take` says, or fails with that code. */
class Log {
  readonly clock = new ManualClock();
  readonly writes: string[] = [];
  readonly dropped: number[] = [];
  slept = 0;
  tries = 0;
  take: (offered: number) => number | string = (offered) => offered;
  /** Called when the output sleeps; the clock is moved on by as much. */
  onSleep = () => {};
  readonly output: LogOutput = new LogOutput({
    clock: this.clock,
    write: (bytes) => {
      this.tries += 1;
      const taken = this.take(bytes.length);
      if (typeof taken === 'string') throw failure(taken);
      this.writes.push(Buffer.from(bytes.subarray(0, taken)).toString('latin1'));
      return taken;
    },
    sleep: (ms) => {
      this.slept += ms;
      this.onSleep();
      this.clock.advance(ms);
    },
    reportDropped: (count) => {
      this.dropped.push(count);
      this.line(`dropped ${count}\n`, warn);
    },
  });

  get text(): string {
    return this.writes.join('');
  }

  line(text: string, level = info): void {
    this.output.lastLevel = level;
    this.output.write(text);
  }
}

describe('the output of the log', () => {
  it('writes the lines of an interval at once', () => {
    const log = new Log();
    log.line('a\n');
    log.clock.advance(flushInterval - 1);
    log.line('b\n');
    expect(log.writes).toEqual([]);
    log.clock.advance(1);
    expect(log.writes).toEqual(['a\nb\n']);
    log.line('c\n');
    log.clock.advance(flushInterval);
    expect(log.writes).toEqual(['a\nb\n', 'c\n']);
  });

  it('writes a warning at once, after what was before it', () => {
    const log = new Log();
    log.line('a\n');
    log.line('b\n', warn);
    expect(log.writes).toEqual(['a\nb\n']);
  });

  it('writes whole lines, as soon as there are as many as a pipe takes at once', () => {
    const log = new Log();
    const line = `${'x'.repeat(999)}\n`;
    for (let count = 0; count < 4 * chunksTogether; count += 1) log.line(line);
    expect(log.writes).toEqual([]);
    log.line(line);
    expect(log.writes).toEqual(Array.from({ length: chunksTogether }, () => line.repeat(4)));
    expect(4 * line.length).toBeLessThanOrEqual(chunkSize);
  });

  it('counts bytes and not letters', () => {
    const log = new Log();
    const line = `${'é'.repeat(999)}\n`;
    for (let count = 0; count < 3; count += 1) log.line(line);
    log.clock.advance(flushInterval);
    expect(log.writes.map((bytes) => Buffer.from(bytes, 'latin1').toString())).toEqual([
      line.repeat(2),
      line,
    ]);
  });

  it('keeps what a late reader does not take, and tries again', () => {
    const log = new Log();
    log.take = () => 'EAGAIN';
    log.line('a\n', warn);
    log.line('b\n', warn);
    // No further try with each line: a write that fails costs more than one that succeeds.
    expect(log.tries).toBe(1);
    log.take = (offered) => offered;
    log.clock.advance(retryInterval);
    expect(log.text).toBe('a\nb\n');
  });

  it.each(['EAGAIN', 'EPIPE', 'ENOSPC'])(
    'holds no more than it may after %s, and says what it dropped once',
    { tags: 'long' },
    (code) => {
      const log = new Log();
      const line = `${'x'.repeat(2_999)}\n`;
      const fitting = Math.floor(capacity / line.length);
      log.take = () => code;
      for (let count = 0; count < fitting + 3; count += 1) log.line(line);
      // This line would fit into the room that is left, but is dropped too, so that there is only one gap.
      log.line('small\n');
      expect(log.dropped).toEqual([]);
      log.take = (offered) => offered;
      log.clock.advance(retryInterval);
      expect(log.dropped).toEqual([4]);
      expect(log.text).toBe(`${line.repeat(fitting)}dropped 4\n`);
      log.line('after\n', warn);
      expect(log.text.endsWith('dropped 4\nafter\n')).toBe(true);
    },
  );

  it('writes a line that is longer than all that may wait', () => {
    const log = new Log();
    log.line('x'.repeat(capacity + 1));
    log.line('after\n', warn);
    expect(log.text.length).toBe(capacity + 1 + 'after\n'.length);
    expect(log.dropped).toEqual([]);
  });

  it('loses and disorders nothing, however little is taken at a time', () => {
    const length = fc.integer({ min: 0, max: 2 * chunkSize });
    const step = fc.record({
      length,
      level: fc.constantFrom(info, info, info, warn),
      taken: fc.oneof(length, fc.constant('EAGAIN')),
      wait: fc.constantFrom(0, 0, 1, retryInterval, flushInterval),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const log = new Log();
        let sent = '';
        for (const [index, each] of steps.entries()) {
          log.take = (offered) =>
            typeof each.taken === 'string' || each.taken === 0 ? 'EAGAIN' : Math.min(offered, each.taken);
          const line = `${index} ${'x'.repeat(each.length)}\n`;
          sent += line;
          log.line(line, each.level);
          log.clock.advance(each.wait);
          expect(sent.startsWith(log.text)).toBe(true);
        }
        log.take = (offered) => offered;
        log.output.end();
        expect(log.text).toBe(sent);
      }),
    );
  });
});

describe('the end of the log', () => {
  it('writes what waits, and each later line at once', () => {
    const log = new Log();
    log.line('a\n');
    log.output.end();
    log.line('b\n');
    expect(log.writes).toEqual(['a\n', 'b\n']);
  });

  it('waits for a reader that is slow, as long as it reads', () => {
    const log = new Log();
    const line = `${'x'.repeat(chunkSize - 1)}\n`;
    let room = 0;
    log.take = (offered) => {
      if (room === 0) return 'EAGAIN';
      room = 0;
      return offered;
    };
    log.onSleep = () => {
      if (log.slept % (flushTimeout / 2) === 0) room = 1;
    };
    for (let count = 0; count < 5; count += 1) log.line(line);
    log.output.end();
    expect(log.text).toBe(line.repeat(5));
    expect(log.slept).toBeGreaterThan(flushTimeout);
  });

  it('gives a reader up that takes nothing', () => {
    const log = new Log();
    log.take = () => 'EAGAIN';
    log.line('a\n');
    log.output.end();
    expect(log.slept).toBe(flushTimeout);
  });

  it('does not wait for a reader that is gone', () => {
    const log = new Log();
    log.take = () => 'EPIPE';
    log.line('a\n');
    log.output.end();
    expect(log.slept).toBe(0);
  });

  it('reports what was dropped', () => {
    const log = new Log();
    log.take = () => 'EAGAIN';
    for (let count = 0; count <= capacity / chunkSize; count += 1) log.line('x'.repeat(chunkSize));
    log.take = (offered) => offered;
    log.output.end();
    expect(log.text.endsWith('dropped 1\n')).toBe(true);
  });
});
