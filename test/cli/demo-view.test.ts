import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DemoView } from '../../src/cli/demo/view.ts';
import type { Attempt } from '../../src/sandbox/index.ts';

const scene = { plan: { callId: 'call-1' }, remark: 'a call' };
const genuine: Attempt = {
  id: 1,
  subscriptionId: 's-1',
  traceId: 't-1',
  callId: 'call-1',
  eventName: 'CallHandler.CallEnded',
  number: 1,
  startedAt: 0,
  latencyMs: 1,
  status: 200,
  answer: '{"status":"accepted","traceId":"t-1"}',
  failure: undefined,
  isDelivered: true,
  disturbance: undefined,
};
const forged: Attempt = {
  ...genuine,
  status: 401,
  answer: '{"error":"not_authentic"}',
  isDelivered: false,
  disturbance: 'tampered',
};

/** The view, and a function that returns what it has printed since the last call. */
function viewed() {
  let lines: string[] = [];
  const view = new DemoView((line) => lines.push(stripVTControlCharacters(line).trim()));
  const printed = () => {
    const before = lines;
    lines = [];
    return before;
  };
  view.begin(scene);
  printed();
  return { view, printed };
}

function logLine(fields: object): string {
  return JSON.stringify({ level: 30, time: 0, msg: 'done', handler: 'journal', ...fields });
}

describe('the view of the demonstration', () => {
  it('shows what a handler says after the delivery that it is about, and not after a forged one', () => {
    const { view, printed } = viewed();
    view.write(logLine({ callId: 'call-1', traceId: 't-1' }));
    expect(printed()).toEqual([]);
    view.attempted(forged);
    expect(printed()).toEqual([
      '→ CallEnded        call-1   the end, forged: changed after it was signed',
      '← 401 not_authentic         in quarantine; no handler sees it',
    ]);
    view.attempted(genuine);
    expect(printed()).toEqual([
      '→ CallEnded        call-1   the end',
      '← 200 accepted              on disk, then answered; handlers run after the answer',
      'handler journal    call-1   done',
    ]);
  });

  it('shows at once what a handler says of a delivery that was shown, and of an earlier call', () => {
    const { view, printed } = viewed();
    view.attempted(genuine);
    printed();
    view.write(logLine({ callId: 'call-1', traceId: 't-1' }));
    view.write(logLine({ callId: 'call-0', traceId: 't-0' }));
    expect(printed()).toEqual(['handler journal    call-1   done', 'handler journal    call-0   done']);
  });

  it('shows a delivery without an answer, and one that comes again', () => {
    const { view, printed } = viewed();
    view.attempted({
      ...genuine,
      status: undefined,
      answer: undefined,
      failure: 'cut',
      disturbance: 'dropped',
    });
    view.attempted({ ...genuine, number: 2, answer: '{"status":"duplicate","traceId":"t-1"}' });
    expect(printed()).toEqual([
      '→ CallEnded        call-1   the end, the connection is cut before the answer',
      '← no answer: cut            so it is delivered again',
      '→ CallEnded        call-1   the end, attempt 2',
      '← 200 duplicate             already in the inbox; no handler runs',
    ]);
  });

  it('shows nothing after the end', () => {
    const { view, printed } = viewed();
    view.attempted(genuine);
    printed();
    view.end();
    view.write(
      JSON.stringify({ handler: 'journal', callId: 'call-1', traceId: 't-1', level: 30, msg: 'late' }),
    );
    expect(printed()).toEqual([]);
  });

  it('shows how a run ended that did not end well, and nothing else of what is for programs', () => {
    const { view, printed } = viewed();
    const about = { callId: 'call-0', traceId: 't-0' };
    view.write(logLine({ ...about, event: 'run_retry', attempt: 1, retryAt: new Date(3_000).toISOString() }));
    view.write(logLine({ ...about, event: 'run_dead', cause: 'no destination' }));
    view.write(logLine({ ...about, event: 'run_done' }));
    view.write(logLine({ handler: undefined, event: 'delivery_failed', level: 50, msg: 'not stored' }));
    expect(printed()).toEqual([
      'handler journal    call-0   not done at attempt 1; tried again in 3 s',
      'handler journal    call-0   given up, kept as a dead letter: no destination',
      'not stored',
    ]);
  });
});
