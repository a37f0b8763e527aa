/**
 * A receiver in a process of its own that removes the events of its inbox as fast as it can, for the tests to kill in
 * the middle. Its one argument is a JSON object with the database, and how to remove them.
 */
import { ManualClock, turn } from '../support/clock.ts';
import { createReceiver } from '../../src/index.ts';

const { database, how } = JSON.parse(process.argv[2] ?? '{}') as {
  database: string;
  how: 'cleaning' | 'erasing';
};

const clock = new ManualClock(Date.now());
const receiver = createReceiver({
  headers: { 'x-key': 'key' },
  database,
  clock,
  retention: how === 'cleaning' ? { done: 0 } : {},
  logger: { level: 'silent' },
});
await receiver.start();
const { calls } = await receiver.calls.list({ limit: 1_000 });
let hasSaid = false;
const sayOnce = () => {
  if (!hasSaid) process.stdout.write(`${JSON.stringify({ begun: true })}\n`);
  hasSaid = true;
};
if (how === 'erasing') {
  for (const [index, { callId }] of calls.entries()) {
    await receiver.erase({ callId, compact: index % 10 === 0 });
    sayOnce();
  }
} else {
  const { done } = (await receiver.counts()).events;
  for (let left = done; left > 0; left = (await receiver.counts()).events.done) {
    clock.advance(200);
    await turn();
    if (left < done) sayOnce();
  }
}
sayOnce();
process.stdout.write(`${JSON.stringify({ finished: true })}\n`);
process.exit(0);
