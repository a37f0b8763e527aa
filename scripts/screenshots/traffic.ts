/** An hour of made-up calls in an inbox in memory, with a CRM that was down and a wrong secret. */
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { createReceiver, type Receiver, sign } from '../../src/index.ts';
import { pino } from 'pino';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';

const secret = 'whsec_cGljdHVyZXMtc2VjcmV0';
const wrongSecret = 'whsec_cGljdHVyZXMtd3Jvbmc=';
const begin = Date.parse('2026-03-02T13:05:00Z');
const minute = 60_000;
/** When the CRM was down, in milliseconds from the beginning. */
const outage = { from: 22 * minute, to: 36 * minute };
const sample = new URL('../../fixtures/call-transferred-wrapped.json', import.meta.url);
const { body: transferred } = JSON.parse(readFileSync(sample, 'utf8')) as {
  readonly body: { readonly payload: Readonly<Record<string, unknown>> };
};

/** The inbox after the hour. */
export interface Traffic {
  readonly receiver: Receiver;
  /** When the hour is over, in milliseconds since 1970. */
  readonly now: number;
}

interface Step {
  readonly at: number;
  readonly eventName: string;
  readonly call: number;
  readonly occurredAt: number;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly secrets?: string;
}

/** Plays the hour. */
export async function playTraffic(): Promise<Traffic> {
  const clock = manualClock(begin);
  const receiver = receiverAt(clock);
  await receiver.start();
  const delivering = steps().map((step) => ({
    at: step.at,
    act: (): Promise<unknown> => receiver.fetch(delivery(step)),
  }));
  const all = [...delivering, ...whatScannersDo(receiver), ...whatPeopleDo(receiver)];
  for (const { at, act } of all.sort((one, other) => one.at - other.at)) {
    await moveTo(clock, begin + at);
    await act();
    await settle(clock);
  }
  await moveTo(clock, begin + 61 * minute);
  return { receiver, now: clock.now() };
}

/** The CRM's handler is paused while it is down, and one event is run again later. */
function whatPeopleDo({ handlers, events }: Receiver): { at: number; act: () => Promise<unknown> }[] {
  const ann = { by: 'ann', reason: 'the CRM is down' };
  return [
    { at: 31 * minute, act: () => handlers.pause('crm-sync', ann) },
    { at: 37 * minute, act: () => handlers.resume('crm-sync', { by: 'ann', reason: 'the CRM is up again' }) },
    {
      at: 52 * minute,
      act: () =>
        events.replay(
          { traceId: 'trace-callended-1015', handler: 'crm-sync' },
          { by: 'ben', reason: 'to see whether it works' },
        ),
    },
  ];
}

function receiverAt(clock: ManualClock): Receiver {
  const isDown = () => clock.now() >= begin + outage.from && clock.now() < begin + outage.to;
  const logger = pino({ level: 'silent' });
  const receiver = createReceiver({
    secrets: secret,
    database: ':memory:',
    clock,
    logger,
    random: () => 0.5,
  });
  const retry = { attempts: 3, base: '1m', factor: 2 } as const;
  /** Simulates the time that handlers take. */
  const takes = (milliseconds: number, event: { readonly traceId: string }) =>
    clock.advance(milliseconds + ((Number(event.traceId.slice(-4)) * 37) % milliseconds));
  receiver.on('CallHandler.CallEnded', { name: 'crm-sync', retry }, (event) => {
    takes(isDown() ? 1_500 : 140, event);
    if (isDown()) throw new Error('the CRM answered 503: Service Unavailable');
  });
  receiver.on('CallHandler.*', { name: 'live-board' }, (event) => takes(6, event));
  receiver.on('CallHandler.CallTransferred', { name: 'notify-team', retry }, (event) => {
    takes(60, event);
    if (/[37]$/.test(event.traceId))
      throw new TypeError("Cannot read properties of undefined (reading 'team')");
  });
  receiver.onCall(
    {
      name: 'save-call',
      events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
      within: '10m',
    },
    () => {},
  );
  return receiver;
}

const endpoint = 'https://calls.example.com/webhooks';

/** Some look at the address, and some send what is no event. */
function whatScannersDo(receiver: Receiver): { at: number; act: () => Promise<unknown> }[] {
  const sent = (init: RequestInit) => () => receiver.fetch(new Request(endpoint, init));
  const form = { method: 'POST', body: new URLSearchParams({ user: 'admin' }) };
  return [
    ...[4, 5, 26, 27, 28, 49].map((at) => ({ at: at * minute, act: sent({ method: 'GET' }) })),
    ...[5, 28].map((at) => ({ at: at * minute + 1, act: sent(form) })),
  ];
}

function steps(): Step[] {
  const all: Step[] = [];
  for (let call = 0; call < 44; call += 1) {
    const start = call * 78_000 + ((call * 7_919) % 30_000);
    const long = 95_000 + ((call * 48_611) % 240_000);
    const late = (at: number, by = 180) => ({ at: at + by + ((call * 131) % 400), occurredAt: at });
    all.push({ ...late(start), eventName: 'CallHandler.CallStarted', call });
    const end = start + long;
    // The platform begins to send a field that it doesn't document.
    const added = call > 30 ? { queue_position: 1 } : {};
    if (call % 5 === 2) {
      const { caller, call_summary: summary, transcript } = transferred.payload;
      const payload = { transfer_to: 'sip:support@example.com', caller, call_summary: summary, transcript };
      all.push({ ...late(end - 900), eventName: 'CallHandler.CallTransferred', call, payload });
    }
    const ended = { ...late(end), eventName: 'CallHandler.CallEnded', call, payload: added };
    all.push(ended);
    // Now and then an answer is lost, and the platform sends the event again.
    if (call % 6 === 5) for (const after of [4_000, 12_000]) all.push({ ...ended, at: ended.at + after });
    // The analysis takes a while; now and then it is delivered before the end of its call.
    const analysed = {
      eventName: 'callAnalysis.pcaCompleted',
      call,
      payload: { reason: 'analysis finished' },
    };
    all.push({ ...late(end + 9_000 + ((call * 997) % 20_000), 2_400), ...analysed });
    if (call % 11 === 6)
      all.push({ ...late(end + 200), eventName: 'CallHandler.CallEnded', call, secrets: wrongSecret });
  }
  return all.filter(({ at }) => at < 60 * minute);
}

function delivery({ eventName, call, occurredAt, payload = {}, secrets = secret, at }: Step): Request {
  const word = eventName.slice(eventName.lastIndexOf('.') + 1).toLowerCase();
  const traceId = `trace-${word}-${String(1_000 + call)}`;
  const body = JSON.stringify({
    traceId,
    organizationId: 'org_example',
    eventName,
    event: eventName.slice(eventName.lastIndexOf('.') + 1),
    timestamp: new Date(begin + occurredAt).toISOString(),
    payload: {
      call_id: `call_${String(2_000 + call)}`,
      agent_id: call % 3 === 0 ? 'agent_51c2' : 'agent_7f3a',
      status: eventName.endsWith('Transferred') ? 'initiated' : 'success',
      ...payload,
    },
  });
  const signed = sign(body, { secrets, timestamp: begin + at });
  return new Request(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-webhook-traceid': traceId, ...signed },
    body,
  });
}

/** Moves time on in small steps, so that timers run at their time. */
async function moveTo(clock: ManualClock, time: number): Promise<void> {
  while (clock.now() < time) {
    clock.advance(Math.min(5_000, time - clock.now()));
    await settle(clock);
  }
}

/** Gives handlers, and writes to the database in memory, the turns that they need to end. */
async function settle(clock: ManualClock): Promise<void> {
  for (let turns = 0; turns < 12; turns += 1) {
    await turn();
    clock.advance(0);
  }
}
