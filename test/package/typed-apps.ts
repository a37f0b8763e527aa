/** Apps that are type-checked with the packed package. */

/** Uses what most apps use, and says where the types have to refuse what it does. */
export const rightApp = `
import { createReceiver, Discard, eventNames, isKnownEvent, RetryLater, sign, verify } from 'ringback';
import type { CallEvent, ReceiverOptions, RunContext } from 'ringback';
import { createPlatform } from 'ringback/platform';
import { createSandbox } from 'ringback/sandbox';
import { testSecret } from 'ringback/testing';

const sandbox = createSandbox({ database: './sandbox.db', speed: 60 });
const platform = createPlatform({ baseUrl: sandbox.url, apiKey: testSecret });
export const subscribed = platform.subscriptions.ensure({ name: 'app', url: 'https://calls.example/' });
// @ts-expect-error: a subscription needs an address
platform.subscriptions.ensure({ name: 'app' });

const options: ReceiverOptions = { secrets: ['whsec_a', 'whsec_b'], tolerance: '5m', limits: { body: '5mb' } };
const receiver = createReceiver(options);
receiver
  .on('CallHandler.CallEnded', async (event, ctx) => {
    const callId: string = event.payload.call_id;
    await ctx.commit((db) => db.prepare('insert into calls values (?)').run(callId));
    // @ts-expect-error: no such field
    event.payload.call_idd;
    // @ts-expect-error: a call that ended has no destination
    event.payload.transfer_to;
    // @ts-expect-error: not of that type
    const wrong: number = event.payload.call_id;
    return wrong;
  })
  .on(eventNames.callTransferred, { name: 'transfers', timeout: '20s', order: 'strict' }, (event) => {
    const to: string = event.payload.transfer_to;
    if (to === '') throw new Discard('nowhere');
  })
  .on(['CallHandler.*', 'callAnalysis.pcaCompleted'], { name: 'all' }, (event) => {
    if (isKnownEvent(event) && event.eventName === 'callAnalysis.pcaCompleted') throw new RetryLater('10m');
    // @ts-expect-error: other events may come under the pattern, so the payload is not known
    const id: string = event.payload.call_id;
    return id;
  })
  .fallback((event: CallEvent, { isKnown, log }) => log.info({ isKnown }, event.eventName));
// @ts-expect-error: misspelled option
createReceiver({ secret: 'whsec_a' });
// @ts-expect-error: not a duration
createReceiver({ secrets: 'whsec_a', timeout: 'soon' });
export const handler = (event: CallEvent, ctx: RunContext): string => event.traceId + ctx.attempt;
export const verified: boolean = verify('{}', sign('{}', { secrets: 'whsec_a' }), { secrets: 'whsec_a' }).ok;
`;

/** Its mistakes are in the lines 4 to 8. */
export const wrongApp = `import { createReceiver } from 'ringback';
const receiver = createReceiver({ secrets: 'whsec_a' });
receiver.on('CallHandler.CallEnded', (event, ctx) => {
  event.payload.callId;
  event.payload.transfer_to;
  event.traceid;
  ctx.attempts;
  const id: number = event.payload.call_id;
  return id;
});
receiver.on('CallHandler.CallStarted', (event) => event.payload.call_id);
`;
