import { expect, test } from 'vitest';
import type { Line } from './history.ts';
import { handlers } from './terms.ts';
import { Judge } from './verdict.ts';

const callId = 'call-1';
const at = 1_000;
const sent = [0, 1].flatMap((place): Line[] => {
  const traceId = `${callId}-${place}`;
  const begun = place * 100;
  return [
    { kind: 'sent', at: begun, traceId, callId, eventName: 'CallHandler.CallEnded' },
    { kind: 'answered', at: begun, traceId, status: 401, result: undefined, disturbance: 'tampered' },
    { kind: 'answered', at: begun + 10, traceId, status: 503, result: undefined },
    { kind: 'answered', at: begun + 20, traceId, status: 200, result: 'accepted' },
  ];
});
const answered = (status: number, result: string | undefined, disturbance?: string): Line => ({
  kind: 'answered',
  at,
  traceId: 'call-1-0',
  status,
  result,
  disturbance,
});
const unsettled = (lines: readonly Line[]) =>
  lines.filter((line) => line.kind !== 'answered' || line.status === 401);
const stored = [0, 1].map((place): Line => ({ kind: 'stored', traceId: `${callId}-${place}` }));
const row = (handler: string, place: number | undefined): Line => ({
  kind: 'row',
  handler,
  callId,
  traceId: place === undefined ? '' : `${callId}-${place}`,
});
const rows = handlers.flatMap(({ name, isJoin }) =>
  isJoin ? [row(name, undefined)] : [row(name, 0), row(name, 1)],
);
const kept: readonly Line[] = [...sent, ...stored, ...rows, { kind: 'over', at }];

const judge = (lines: readonly Line[]) => {
  const judging = new Judge();
  for (const line of lines) judging.take(line);
  return judging.verdict();
};
const without = (lines: readonly Line[], ...left: readonly Line[]) =>
  lines.filter((line) => !left.includes(line));

test('a history in which every promise is kept has no violations', () => {
  expect(judge(kept)).toMatchObject({ sent: 2, acknowledged: 2, rows: 7, violations: {} });
});

const [first, second] = [row('strict', 0), row('strict', 1)];
test.for<[string, readonly Line[]]>([
  ['lost', without(kept, ...stored.slice(1))],
  ['stored twice', [...kept, ...stored.slice(1)]],
  ['not handled', without(kept, ...rows.slice(-1))],
  ['doubled', [...kept, row('in order of call', 1)]],
  ['doubled', [...kept, row('join', undefined)]],
  ['out of order', [...sent, ...stored, second, first]],
  ['accepted twice', [...kept, answered(200, 'accepted')]],
  ['refused', [...kept, answered(401, undefined)]],
  ['forgery taken', [...kept, answered(200, 'accepted', 'wrong_secret')]],
  ['taken from a forgery', [...unsettled(kept), answered(200, 'duplicate')]],
  ['not done', [...kept, { kind: 'undone', what: 'waiting events', count: 1 }]],
  ['ended by itself', [...kept, { kind: 'ended', at, receiver: 0, code: 1 }]],
  ['incomplete', without(kept, ...kept.slice(-1))],
])('what is %s is a violation', ([kind, lines]) => {
  expect(judge(lines).violations).toHaveProperty([kind]);
});

test.each<[string, readonly Line[]]>([
  ['given up', [...unsettled(sent), ...kept.slice(-1)]],
  ['given up, and yet stored', [...unsettled(kept)]],
  [
    'unanswered by the receiver that has it',
    [...unsettled(kept), { kind: 'asked again', at, traceId: 'call-1-0' }, answered(200, 'duplicate')],
  ],
])('what is %s breaks no promise', (_, lines) => {
  expect(judge(lines).violations).toEqual({});
});

test('either of two events whose deliveries overlap may be the first', () => {
  const overlapping = sent.map((line) => (line.kind === 'answered' ? { ...line, at: 500 } : line));
  expect(judge([...overlapping, ...stored, ...rows.toReversed(), ...kept.slice(-1)]).violations).toEqual({});
});

test('what is written at least once may be there twice', () => {
  expect(judge([...kept, row('unordered', 1)]).violations).toEqual({});
});
