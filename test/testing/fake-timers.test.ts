import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildDelivery, deliver, manualClock, testReceiver } from '../../src/testing/index.ts';
import { Gate } from '../support/gate.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { whenHandled } from '../support/when-handled.ts';

/** Fakes what a test framework fakes by default, until the test has ended. */
function fakeTimers(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

describe('under faked timers', () => {
  it.for<[string, () => string]>([
    ['in memory', () => ':memory:'],
    ['in a file', temporaryDatabase],
  ])('a receiver takes and handles a delivery: %s', async ([, database]) => {
    fakeTimers();
    const seen: string[] = [];
    const receiver = testReceiver({ database: database() }).on('*', ({ traceId }) => void seen.push(traceId));
    await receiver.start();
    expect((await deliver(receiver, buildDelivery('call-ended', { traceId: 't-1' }))).status).toBe(200);
    await whenHandled(receiver, 't-1');
    await receiver.stop();
    expect(seen).toEqual(['t-1']);
  });

  it('a retry is due once the faked time has come', async () => {
    fakeTimers();
    let attempts = 0;
    const receiver = testReceiver().on('*', { name: 'save' }, () => {
      attempts += 1;
      if (attempts === 1) throw new Error('the database is down');
    });
    await receiver.start();
    await deliver(receiver, buildDelivery('call-ended', { traceId: 't-1' }));
    // Waits in turns of the real event loop: `expect.poll` would move the faked time.
    while ((await receiver.events.get('t-1'))?.runs[0]?.state !== 'due') await setImmediate();
    await vi.advanceTimersByTimeAsync(60_000);
    await whenHandled(receiver, 't-1');
    await receiver.stop();
    expect(attempts).toBe(2);
  });
});

describe('a stop without timeout', () => {
  it('waits for no clock, although a handler never ends', async () => {
    const gate = new Gate();
    onTestFinished(() => gate.open());
    const receiver = testReceiver({ clock: manualClock() }).on('*', gate.pass);
    await receiver.start();
    await deliver(receiver, buildDelivery('call-ended'));
    await gate.reached;
    await receiver.stop({ drain: 0 });
    expect(receiver.isReady).toBe(false);
  });
});
