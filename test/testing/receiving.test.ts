import { setImmediate } from 'node:timers/promises';
import express from 'express';
import request from 'supertest';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Discard, type Receiver, RetryLater } from '../../src/index.ts';
import { listening } from '../support/servers.ts';
import {
  buildDelivery,
  deliver,
  deliverTo,
  handled,
  manualClock,
  testReceiver,
  testSecret,
} from '../../src/testing/index.ts';
import { whenDue, whenHandled } from '../support/when-handled.ts';

async function started(receiver: Receiver): Promise<Receiver> {
  onTestFinished(() => receiver.stop());
  await receiver.start();
  return receiver;
}

describe('a test receiver', () => {
  it('handles what is delivered to it in-process', async () => {
    const seen: string[] = [];
    const receiver = testReceiver().on('CallHandler.CallEnded', (event) => {
      seen.push(event.payload.call_id);
    });
    await started(receiver);
    const delivery = buildDelivery('call-ended', { callId: 'call_42', traceId: 'trace-42' });
    expect(await deliver(receiver, delivery)).toEqual({
      status: 200,
      body: { status: 'accepted', traceId: 'trace-42' },
    });
    await whenHandled(receiver, 'trace-42');
    expect(seen).toEqual(['call_42']);
    expect((await deliver(receiver, delivery)).body).toMatchObject({ status: 'duplicate' });
  });

  it.each([
    ['a name of a fixture', 'call-ended', '"call-ended"'],
    ['a body that is text', { body: '{}', headers: {} }, 'of type object'],
    ['nothing', undefined, 'undefined'],
  ])('refuses %s as a delivery', async (_, delivery, found) => {
    const sentence = (where: string) =>
      `The option ${where}(delivery) should be what buildDelivery has returned, but is ${found}.`;
    await expect(deliver(testReceiver(), delivery as never)).rejects.toThrow(sentence('deliver'));
    await expect(deliverTo('http://127.0.0.1:1/', delivery as never)).rejects.toThrow(sentence('deliverTo'));
  });

  it.each([
    ['an app', express(), 'of type function'],
    ['nothing', undefined, 'undefined'],
  ])('refuses %s in its place', async (_, receiver, found) => {
    await expect(deliver(receiver as never, buildDelivery('call-ended'))).rejects.toThrow(
      `The option deliver(receiver) should be what createReceiver or testReceiver has returned, but is ${found}.`,
    );
  });

  it('handles what comes through an app and supertest', async () => {
    const receiver = await started(testReceiver().on('*', () => {}));
    const app = express().use('/webhooks', receiver.middleware());
    const { body, headers } = buildDelivery('transcript-emoji');
    const response = await request(app).post('/webhooks').set(headers).send(body.toString());
    expect(response.body).toMatchObject({ status: 'accepted' });
    await whenHandled(receiver, 'trace-emoji');
  });

  it('says on the console what supertest makes of bytes', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const receiver = await started(testReceiver().on('*', () => {}));
    const app = express().use('/webhooks', receiver.middleware());
    const { body, headers } = buildDelivery('call-ended');
    expect((await request(app).post('/webhooks').set(headers).send(body)).status).toBe(401);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('send(body.toString())')]]);
  });

  it('takes the options of any receiver', async () => {
    const receiver = await started(
      testReceiver({ secrets: 'whsec_b3duIHNlY3JldA==', https: { hosts: ['a.test'] } }),
    );
    const delivery = buildDelivery('call-ended', { secret: 'whsec_b3duIHNlY3JldA==' });
    expect((await deliver(receiver, buildDelivery('call-ended'), 'https://a.test/')).status).toBe(401);
    expect((await deliver(receiver, delivery)).status).toBe(421);
    expect((await deliver(receiver, delivery, 'https://a.test/')).status).toBe(200);
    expect((await deliver(receiver, delivery, 'http://a.test/')).status).toBe(403);
  });
});

describe('the console of a test', () => {
  it('says that no event has the name of a handler, and that a receiver was never started, and nothing else', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const forgotten = testReceiver().on('*', () => {});
    expect(await deliver(forgotten, buildDelivery('call-ended'))).toMatchObject({ status: 503 });
    const receiver = testReceiver().on('CallHandler.CallEnd', { name: 'late' }, () => {});
    receiver.on('*', () => {
      throw new Discard('no such customer');
    });
    await started(receiver);
    expect(await deliver(receiver, buildDelivery('call-ended', { secret: 'whsec_b3RoZXI=' }))).toMatchObject({
      status: 401,
    });
    const { body } = await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1' }));
    expect(body).toMatchObject({ status: 'accepted' });
    await whenHandled(receiver, 'trace-1');
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^ringback: The receiver was never started.*receiver\.start\(\)/)],
      [expect.stringMatching(/^ringback: .*"late".*"CallHandler\.CallEnd".*"CallHandler\.CallEnded"/)],
    ]);
  });
});

describe('an event that no handler gets because its payload lacks something', () => {
  it('is reported on the console: nothing has failed, and nothing has run', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const receiver = testReceiver().on('CallHandler.CallEnded', () => {
      throw new Error('always');
    });
    await started(receiver);
    const payload = { call_id: 'call-1', status: 5 };
    const event = { traceId: 'trace-1', eventName: 'CallHandler.CallEnded', payload };
    await deliver(receiver, buildDelivery(event));
    expect((await whenHandled(receiver, 'trace-1')).runs).toEqual([]);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^ringback: .* typed handlers can't take .*"trace-1".*\["payload\.status"\]/)],
    ]);
  });
});

describe('handled', () => {
  it('gives the event, with what has become of its runs', async () => {
    const receiver = testReceiver().on('*', { name: 'well' }, () => {});
    receiver.on('*', { name: 'dying' }, () => {
      throw new Discard('no such customer');
    });
    await started(receiver);
    await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1' }));
    const { runs } = await whenHandled(receiver, 'trace-1');
    expect(runs.filter(({ state }) => state === 'dead')).toMatchObject([
      { handler: 'dying', reason: 'no such customer' },
    ]);
  });

  it('moves a manual clock on only while nothing runs: no deadline passes over what is in flight', async () => {
    const clock = manualClock();
    const attempts: number[] = [];
    const looks: string[] = [];
    const receiver = testReceiver({ clock })
      .on('*', { name: 'slow' }, async (_event, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new RetryLater('1s');
        const enough = looks.length + 3;
        while (looks.length < enough) await setImmediate();
      })
      .on('*', { name: 'late' }, (_event, { attempt }) => {
        if (attempt === 1) throw new RetryLater('2h');
      });
    await started(receiver);
    await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1', timestamp: clock.now() }));
    const get = receiver.events.get.bind(receiver.events);
    receiver.events.get = (traceId) => {
      looks.push(traceId);
      return get(traceId);
    };
    await whenHandled(receiver, 'trace-1', { clock });
    expect(attempts).toEqual([1, 2]);
  });

  it('moves a manual clock on until a retry and a join are due', async () => {
    const clock = manualClock();
    const events = ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'] as const;
    const seen: unknown[] = [];
    const receiver = testReceiver({ clock })
      .on('*', { name: 'late' }, async (_event, { attempt }) => {
        // If the clock were moved on meanwhile, the deadline would pass and there would be further attempts.
        for (let turns = 0; turns < 200; turns += 1) await setImmediate();
        if (attempt === 1) throw new RetryLater('90s');
        seen.push(attempt);
      })
      .onCall({ name: 'join', events, within: '2m' }, ({ missing }) => void seen.push(missing));
    await started(receiver);
    await deliver(receiver, buildDelivery('call-ended', { traceId: 'trace-1', timestamp: clock.now() }));
    await whenHandled(receiver, 'trace-1', { clock });
    expect(seen).toEqual([2, ['callAnalysis.pcaCompleted']]);
  });

  it('waits for every handler, however it ends', async () => {
    const gate = Promise.withResolvers<void>();
    const ended: string[] = [];
    const receiver = testReceiver()
      .on('*', { name: 'quick' }, () => void ended.push('quick'))
      .on('*', { name: 'giving-up' }, () => {
        ended.push('giving-up');
        throw new Discard('of no use');
      })
      .on('*', { name: 'slow' }, async () => {
        await gate.promise;
        ended.push('slow');
      });
    await started(receiver);
    await deliver(receiver, buildDelivery('call-ended'));
    const waiting = whenHandled(receiver, 'trace-call-ended').then(() => ended.push('handled'));
    await expect(handled(receiver, 'trace-call-ended', { within: 0 })).rejects.toThrow(
      /The event should have been handled within 0 ms, but .*"slow" has not ended its first attempt/,
    );
    gate.resolve();
    await waiting;
    expect(ended).toEqual(['quick', 'giving-up', 'slow', 'handled']);
    expect((await receiver.events.get('trace-call-ended'))?.runs).toContainEqual(
      expect.objectContaining({ handler: 'giving-up', state: 'dead', reason: 'of no use' }),
    );
  });

  it.each([
    ["by the machine's clock", {}, 'Check what'],
    [
      'by a manual clock',
      { clock: manualClock() },
      'Advance its clock with clock.advance(), or let handled do it',
    ],
  ])(
    'says that a run waits to be tried again: whose, after how many attempts, and why: %s',
    async (_, options, fix) => {
      const receiver = testReceiver(options).on('*', { name: 'tell-crm' }, () => {
        throw new RetryLater('1h', 'the CRM is down');
      });
      await started(receiver);
      await deliver(receiver, buildDelivery('call-ended'));
      await whenDue(receiver, 'trace-call-ended');
      await expect(handled(receiver, 'trace-call-ended', { within: '200ms' })).rejects.toMatchObject({
        code: 'condition_not_met',
        message: expect.stringContaining(
          'within 200 ms, but "tell-crm" waits to be tried again, attempts so far: 1, reason: the CRM is down. ' +
            fix,
        ),
      });
    },
  );

  it('says that no such event has arrived', async () => {
    const receiver = await started(testReceiver());
    await expect(handled(receiver, 'trace-call-ended', { within: '1ms' })).rejects.toThrow(
      'no event with the trace id "trace-call-ended" has arrived. Compare it with',
    );
  });

  it('names the events that have arrived instead', async () => {
    const receiver = await started(testReceiver());
    const delivery = buildDelivery('story-2-call-ended');
    const { body } = await deliver(receiver, delivery);
    await expect(handled(receiver, 'trace-story-2-call-ended', { within: '1ms' })).rejects.toThrow(
      `has arrived; the latest that have arrived are ${JSON.stringify((body as { traceId: string }).traceId)}. Compare it with ` +
        "traceId in deliver's answer.",
    );
  });

  it('refuses a within that is no duration', async () => {
    const receiver = await started(testReceiver());
    await expect(handled(receiver, 'trace', { within: 'soon' as '1s' })).rejects.toMatchObject({
      code: 'option_invalid',
    });
    await expect(handled(receiver, 'trace', { timeout: '1s' } as object)).rejects.toMatchObject({
      code: 'option_unknown',
    });
  });

  it.each([
    ['body', 'call-ended', 'trace-call-ended'],
    ['header', 'trace-id-header-only', 'trace-id-header-only'],
  ])('knows an event by a trace id from the %s', async (_source, name) => {
    const receiver = await started(testReceiver().on('*', () => {}));
    const { body } = await deliver(receiver, buildDelivery(name));
    const { traceId } = body as { traceId: string };
    await whenHandled(receiver, traceId);
    expect((await receiver.events.get(traceId))?.state).toBe('done');
  });

  it('knows an event without a trace id by its digest', async () => {
    const receiver = await started(testReceiver().on('*', () => {}));
    const { body } = await deliver(receiver, buildDelivery('trace-id-missing'));
    const { traceId } = body as { traceId: string };
    expect(traceId).toMatch(/^sha256:/);
    await whenHandled(receiver, traceId);
  });

  it('waits for both of two events whose trace ids read alike, one in a header and one in a body', async () => {
    const gate = Promise.withResolvers<void>();
    const receiver = testReceiver()
      .on('A.InBody', () => {})
      .on('A.InHeader', () => gate.promise);
    await started(receiver);
    const inHeader = { 'x-webhook-traceid': 'trace-alike', 'x-webhook-event': 'A.InHeader' };
    await deliver(receiver, buildDelivery({ n: 1 }, { headers: inHeader }));
    await deliver(receiver, buildDelivery({ traceId: 'trace-alike', eventName: 'A.InBody' }));
    expect(await receiver.counts()).toMatchObject({ quarantine: { unreadable: 0 } });
    await expect(handled(receiver, 'trace-alike', { within: '100ms' })).rejects.toMatchObject({
      code: 'condition_not_met',
    });
    gate.resolve();
    await whenHandled(receiver, 'trace-alike');
  });
});

describe('a manual clock', () => {
  it('brings on a retry without waiting', async () => {
    const clock = manualClock();
    const attempts: number[] = [];
    const receiver = testReceiver({ clock }).on('*', (_event, { attempt }) => {
      attempts.push(attempt);
      if (attempt === 1) throw new RetryLater('2h');
    });
    await started(receiver);
    await deliver(receiver, buildDelivery('call-ended', { timestamp: clock.now() }));
    await whenDue(receiver, 'trace-call-ended');
    await expect(handled(receiver, 'trace-call-ended', { within: '200ms' })).rejects.toThrow(
      'waits to be tried again',
    );
    clock.advance('2h');
    await whenHandled(receiver, 'trace-call-ended');
    expect(attempts).toEqual([1, 2]);
  });

  it('calls timers in the order in which they are due, and those that they set', () => {
    const clock = manualClock(new Date('2026-03-02T00:00:00Z'));
    const called: [string, number][] = [];
    const note = (name: string) => () => void called.push([name, clock.elapsed()]);
    clock.after(30, note('third'));
    clock.after(10, () => {
      note('first')();
      clock.after(10, note('second'));
    });
    const cancel = clock.after(20, note('cancelled'));
    clock.after(41, note('too late'));
    cancel();
    clock.advance(40);
    expect(called).toEqual([
      ['first', 10],
      ['second', 20],
      ['third', 30],
    ]);
    expect(new Date(clock.now()).toISOString()).toBe('2026-03-02T00:00:00.040Z');
    expect(() => clock.advance('soon' as '1s')).toThrow('advance(duration)');
  });

  it.each([
    ['a text', '2026-03-02', '"2026-03-02"'],
    ['a Date that is none', new Date('soon'), 'an invalid Date'],
  ])('refuses to start at %s', (_, start, found) => {
    expect(() => manualClock(start as Date)).toThrow(
      `The option manualClock(start) should be a Date or milliseconds since 1970, but is ${found}.`,
    );
  });
});

describe('deliverTo', () => {
  it('never goes back, even if a timer advances it further', () => {
    const clock = manualClock();
    clock.after(10, () => clock.advance(100));
    clock.advance(50);
    expect(clock.elapsed()).toBe(110);
  });

  it('delivers over HTTP, and gives an answer that is no JSON as text', async () => {
    const app = express().post('/', (_request, response) => void response.status(202).send('thanks'));
    const server = app.listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/`;
    expect(await deliverTo(url, buildDelivery('call-ended', { secret: testSecret }))).toEqual({
      status: 202,
      body: 'thanks',
    });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(deliverTo(url, buildDelivery('call-ended'))).rejects.toMatchObject({
      code: 'delivery_unsent',
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });

  it('sends one request, whatever the answer', async () => {
    const seen: unknown[] = [];
    const port = await listening(({ headers }, response) => {
      seen.push([headers['content-length'], headers['transfer-encoding']]);
      response.writeHead(421).end();
    });
    const delivery = buildDelivery('call-ended');
    expect((await deliverTo(`http://127.0.0.1:${port}/`, delivery)).status).toBe(421);
    expect(seen).toEqual([[String(delivery.body.byteLength), undefined]]);
  });
});
