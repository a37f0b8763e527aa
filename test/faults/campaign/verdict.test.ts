import { expect, test } from 'vitest';
import type { Line } from './history.ts';
import { handlers } from './terms.ts';
import { Judge } from './verdict.ts';

const callId = 'call-1';
const at = 0;
const sent = [0, 1].flatMap((place): Line[] => {
  const traceId = `${callId}-${place}`;
  return [
    { kind: 'sent', at, traceId, callId, place, eventName: 'CallHandler.CallEnded' },
    { kind: 'answered', at, traceId, status: 503, result: undefined },
    { kind: 'answered', at, traceId, status: 200, result: 'accepted' },
  ];
});
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
  [
    'accepted twice',
    [...kept, { kind: 'answered', at, traceId: 'call-1-0', status: 200, result: 'accepted' }],
  ],
  ['refused', [...kept, { kind: 'answered', at, traceId: 'call-1-0', status: 401, result: undefined }]],
  ['not done', [...kept, { kind: 'undone', what: 'waiting events', count: 1 }]],
  ['ended by itself', [...kept, { kind: 'ended', at, receiver: 0, code: 1 }]],
  ['incomplete', without(kept, ...kept.slice(-1))],
])('what is %s is a violation', ([kind, lines]) => {
  expect(judge(lines).violations).toHaveProperty([kind]);
});

test('what is written at least once may be there twice', () => {
  expect(judge([...kept, row('unordered', 1)]).violations).toEqual({});
});
