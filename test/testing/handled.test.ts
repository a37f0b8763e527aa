import { describe, expect, it, onTestFinished } from 'vitest';
import { Discard, type Receiver, RetryLater } from '../../src/index.ts';
import { buildDelivery, deliver, handled, manualClock, testReceiver } from '../../src/testing/index.ts';
import { turn } from '../support/clock.ts';
import { storeAround } from '../support/store-around.ts';
import { whenDue, whenHandled } from '../support/when-handled.ts';

describe('handled with a manual clock', () => {
  it('brings a retry on that comes due while the receiver is setting its timer for it', async () => {
    const clock = manualClock();
    const asked: number[] = [];
    // The receiver asks when the run is due, first to see whether it already is, and then to set its timer. The second
    // answer comes only when `handled` has moved the clock on.
    const store = storeAround(':memory:', clock, (method, work) => {
      if (method !== 'nextDue') return undefined;
      return async (...given) => {
        const dueAt = await work(...given);
        if (typeof dueAt === 'number' && asked.push(dueAt) === 2) while (clock.now() < dueAt) await turn();
        return dueAt;
      };
    });
    const attempts: number[] = [];
    const receiver = testReceiver({ clock, database: store }).on('*', async (_event, { attempt }) => {
      attempts.push(attempt);
      // Until the receiver has nothing else to look for.
      for (let turns = 0; turns < 20; turns += 1) await turn();
      // Soon, so that no heartbeat of the receiver comes before it.
      if (attempt === 1) throw new RetryLater('1s');
    });
    await receiver.start();
    onTestFinished(() => receiver.stop());
    await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1', timestamp: clock.now() }));
    await whenHandled(receiver, 'trace-1', { clock });
    expect(attempts).toEqual([1, 2]);
  });

  it('brings on the retry of an earlier event of the call, behind which a strict run is blocked', async () => {
    const clock = manualClock();
    const done: string[] = [];
    const receiver = testReceiver({ clock }).on('*', { order: 'strict' }, ({ traceId }, { attempt }) => {
      if (traceId === 'trace-1' && attempt === 1) throw new RetryLater('1h');
      done.push(traceId);
    });
    await receiver.start();
    onTestFinished(() => receiver.stop());
    for (const traceId of ['trace-1', 'trace-2'])
      await deliver(receiver, buildDelivery('call-ended', { traceId, timestamp: clock.now() }));
    await whenHandled(receiver, 'trace-2', { clock });
    expect(done).toEqual(['trace-1', 'trace-2']);
  });

  it('advances the clock to the next slot of a rate, for first attempts and retries', async () => {
    const clock = manualClock();
    const begun: string[] = [];
    const receiver = testReceiver({ clock }).on('*', { rate: '1/h' }, ({ traceId }, { attempt }) => {
      begun.push(traceId);
      if (traceId === 'trace-2' && attempt === 1) throw new RetryLater('1m');
    });
    await receiver.start();
    onTestFinished(() => receiver.stop());
    const deliverOne = (traceId: string) =>
      deliver(receiver, buildDelivery('call-ended', { traceId, callId: traceId, timestamp: clock.now() }));
    for (const traceId of ['trace-1', 'trace-2', 'trace-3']) await deliverOne(traceId);
    await whenHandled(receiver, 'trace-2', { clock });
    await whenHandled(receiver, 'trace-3', { clock });
    expect(begun.toSorted()).toEqual(['trace-1', 'trace-2', 'trace-2', 'trace-3']);
    await deliverOne('trace-4');
    const inVain = () => handled(receiver, 'trace-4', { within: '100ms' }).then(String, String);
    await expect.poll(inVain).toContain('{ clock }');
  });

  it('lets no time pass while a handler of another event works, whose deadline that would be', async () => {
    const clock = manualClock();
    const gate = Promise.withResolvers<void>();
    const attempts: string[] = [];
    const receiver = testReceiver({ clock }).on('*', async ({ traceId }, { attempt }) => {
      attempts.push(traceId);
      if (traceId === 'slow') await gate.promise;
      else if (attempt === 1) throw new RetryLater('1h');
    });
    await receiver.start();
    onTestFinished(() => receiver.stop({ drain: 0 }));
    const timestamp = clock.now();
    for (const traceId of ['slow', 'trace-1'])
      await deliver(receiver, buildDelivery('call-ended', { traceId, callId: traceId, timestamp }));
    await whenDue(receiver, 'trace-1');
    const inVain = handled(receiver, 'trace-1', { clock, within: '100ms' });
    await expect(inVain).rejects.toThrow('A handler of another event has not ended');
    gate.resolve();
    for (const traceId of ['slow', 'trace-1']) await whenHandled(receiver, traceId, { clock });
    expect(attempts.toSorted()).toEqual(['slow', 'trace-1', 'trace-1']);
  });

  it('lets no time pass for a rate while another handler works', async () => {
    const clock = manualClock();
    const until = Promise.withResolvers<void>();
    const begun = clock.elapsed();
    let worked = -1;
    const receiver = testReceiver({ clock })
      .on('*', { name: 'rated', rate: '1/m' }, () => {})
      .on('CallHandler.CallEnded', { name: 'slow', timeout: '10s' }, async () => {
        await until.promise;
        worked = clock.elapsed() - begun;
      });
    await receiver.start();
    onTestFinished(() => receiver.stop({ drain: 0 }));
    const timestamp = clock.now();
    await deliver(receiver, buildDelivery('call-started', { traceId: 'trace-1', callId: 'a', timestamp }));
    await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-2', callId: 'b', timestamp }));
    const waiting = whenHandled(receiver, 'trace-2', { clock });
    for (let turns = 0; turns < 50; turns += 1) await turn();
    until.resolve();
    await waiting;
    expect(worked).toBe(0);
  });
});

describe('handled after its timeout', () => {
  const hanging = () => new Promise(() => {});
  /** Delivers an event, and returns a function that says for what it is waited in vain. */
  const inVain = async (receiver: Receiver): Promise<() => Promise<string>> => {
    await receiver.start();
    onTestFinished(() => receiver.stop({ drain: 0 }));
    await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1' }));
    const causeIn = (error: Error) => /but (.*?)\. Check what/.exec(error.message)?.[1] ?? '';
    return () => handled(receiver, 'trace-1', { within: '100ms' }).then(String, causeIn);
  };

  it('names the handlers that hang in their first attempt, and no others', async () => {
    const receiver = testReceiver()
      .on('*', { name: 'well' }, () => {})
      .on('*', { name: 'hanging' }, hanging)
      .on('callAnalysis.pcaCompleted', { name: 'of another event' }, hanging)
      .on('CallHandler.*', { name: 'dying' }, () => {
        throw new Discard('no such customer');
      });
    await expect.poll(await inVain(receiver)).toBe('"hanging" has not ended its first attempt');
  });

  it('names a handler that hangs in a later attempt', async () => {
    const receiver = testReceiver().on('*', { name: 'hanging' }, (_event, { attempt }) => {
      if (attempt === 1) throw new RetryLater(0, 'not yet.');
      return hanging();
    });
    await expect.poll(await inVain(receiver)).toBe('"hanging" has not ended attempt 2, reason: not yet');
  });

  it('says that no handler may be registered, if there is none', async () => {
    const cause = await inVain(testReceiver());
    expect(await cause()).toBe('not all of its handlers have ended, or none is registered');
  });
});

it('names what it was given instead of a receiver', async () => {
  await expect(handled('t-1' as never, 't-1')).rejects.toThrow(
    'The option handled(receiver) should be what createReceiver or testReceiver has returned, but is "t-1".',
  );
});
