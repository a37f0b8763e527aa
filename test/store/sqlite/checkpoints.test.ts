// @module-tag long
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliverAll } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

test('the WAL is checkpointed and reused under a constant load of deliveries', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database, clock: new ManualClock(), logger: { level: 'silent' } });
  const filler = 'x'.repeat(400_000);
  let largest = 0;
  for (let round = 0; round < 75; round += 1) {
    const bodies = Array.from({ length: 5 }, (_, index) =>
      bodyOf({ traceId: `trace-${round}-${index}`, payload: { call_id: `call-${round}-${index}`, filler } }),
    );
    await deliverAll(receiver, bodies);
    largest = Math.max(largest, statSync(`${database}-wal`).size);
  }
  // A log that is never written back would be several times as large as all the bodies together.
  expect(largest).toBeLessThan(120_000_000);
  expect((await receiver.counts()).events.done).toBeGreaterThan(0);
});
