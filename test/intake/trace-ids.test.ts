import { expect, test } from 'vitest';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

test.each([
  ['another trace id than the body', 'trace-2', 1],
  ['the same trace id as the body', 'trace-1', 0],
  ['no trace id', undefined, 0],
])('a delivery whose header has %s', async (_, inHeader, reports) => {
  const { receiver, logs } = await started();
  const body = bodyOf({ traceId: 'trace-1' });
  const headers = {
    ...signedHeaders(body),
    ...(inHeader !== undefined && { 'x-webhook-traceid': inHeader }),
  };
  expect((await deliver(receiver, body, headers)).json).toMatchObject({ traceId: 'trace-1' });
  expect(logs.of('trace_id_differs')).toHaveLength(reports);
});

test('a delivery that is no event says nothing of trace ids', async () => {
  const { receiver, logs } = await started();
  await deliver(receiver, 'not json', signedHeaders('not json'));
  expect(logs.of('trace_id_differs')).toEqual([]);
});
