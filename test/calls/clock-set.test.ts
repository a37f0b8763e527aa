import { describe, expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { type Receiver, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { deliverEvent, names, settled } from './call-events.ts';

const hour = 3_600_000;
/** Deliveries are signed with the platform's clock, which is up to an hour apart from ours when ours is set. */
const tolerance = '2h';
const join = { name: 'joining', events: [names.ended, names.analysed], within: '5m' } as const;

/** A run that asks for another attempt in five minutes, and a join that waits as long. */
function waiting(begun: string[]) {
  return (receiver: Receiver) =>
    receiver
      .on(names.ended, { name: 'retrying' }, (_event, { attempt }) => {
        begun.push(`attempt ${attempt}`);
        if (attempt === 1) throw new RetryLater('5m');
      })
      .onCall(join, () => void begun.push('join'));
}

/** Moves time on second by second; every ten seconds each receiver gets an event and handles it. */
async function pass(clock: ManualClock, ms: number, receivers: readonly Receiver[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(Math.min(1_000, ms - passed));
    for (let turns = 0; turns < 5; turns += 1) await turn();
    if (passed % 10_000 > 0) continue;
    for (const [index, receiver] of receivers.entries()) {
      const traceId = `${passed}-${index}-${clock.elapsed()}`;
      await deliverEvent(receiver, { name: 'started', callId: traceId, traceId });
      await settled(receiver, traceId);
    }
  }
}

describe('a clock that is set', () => {
  test.each([
    ['forwards by an hour', [hour]],
    ['back by an hour', [-hour]],
    ['forwards and back', [hour, -hour]],
    ['back in small steps', [-1_500, -1_500, -1_500]],
  ])('%s neither hastens nor delays what is due in five minutes', async (_, steps) => {
    const clock = new ManualClock();
    const begun: string[] = [];
    const { receiver, logs } = await started({ clock, tolerance }, waiting(begun));
    await deliverEvent(receiver, { name: 'ended', callId: 'call-1', traceId: 't-1' });
    await logs.until('run_retry');
    await clock.timer(300_000);
    for (const step of steps) {
      clock.setWallClock(step);
      await pass(clock, 60_000, [receiver]);
    }
    const remaining = 300_000 - steps.length * 60_000;
    await pass(clock, remaining - 1, [receiver]);
    expect(begun).toEqual(['attempt 1']);
    clock.advance(1);
    await settled(receiver, 't-1');
    expect(begun.sort()).toEqual(['attempt 1', 'attempt 2', 'join']);
  });

  test('is remembered over a restart', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const begun: string[] = [];
    const first = await started({ clock, database, tolerance }, waiting(begun));
    await deliverEvent(first.receiver, { name: 'ended', callId: 'call-1', traceId: 't-1' });
    await first.logs.until('run_retry');
    clock.setWallClock(-hour);
    await first.receiver.stop();
    clock.advance(60_000);
    const second = await started({ clock, database, tolerance }, waiting(begun));
    await pass(clock, 239_999, [second.receiver]);
    expect(begun).toEqual(['attempt 1']);
    clock.advance(1);
    await settled(second.receiver, 't-1');
    expect(begun.sort()).toEqual(['attempt 1', 'attempt 2', 'join']);
  });

  test('counts once, however many processes see it, or begin after it', { tags: 'long' }, async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const begun: string[] = [];
    const options = { clock, database, tolerance } as const;
    const one = await started(options, waiting(begun));
    const other = await started(options, waiting(begun));
    await deliverEvent(one.receiver, { name: 'ended', callId: 'call-1', traceId: 't-1' });
    // Either of the two receivers may have claimed the event.
    await expect.poll(async () => (await one.receiver.events.get('t-1'))?.state).toBe('open');
    await clock.timer(300_000);
    clock.setWallClock(hour);
    await pass(clock, 2_000, []);
    const third = await started(options, waiting(begun));
    const receivers = [one.receiver, other.receiver, third.receiver];
    await pass(clock, 98_000, receivers);
    clock.setWallClock(-2 * hour);
    await pass(clock, 100_000, receivers);
    clock.setWallClock(1_200);
    await pass(clock, 99_999, receivers);
    expect(begun).toEqual(['attempt 1']);
    // Each process measures the clock for itself, and a difference of less than a second doesn't count as a jump.
    await pass(clock, 2_001, receivers);
    await settled(one.receiver, 't-1');
    expect(begun.sort()).toEqual(['attempt 1', 'attempt 2', 'join']);
  });
});
