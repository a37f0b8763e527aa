/**
 * The app that `npm start` runs against the sandbox: the app of ../standalone, and a join that waits for the end of a
 * call and for its analysis, in any order, and for the analysis no longer than five seconds.
 */
import type { Receiver } from 'ringback';
import registerHandlers from '../standalone/app.ts';

export default function app(receiver: Receiver): void {
  registerHandlers(receiver);

  receiver.onCall(
    { name: 'summary', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '5s' },
    (call, ctx) => {
      const seconds = Math.round((call.durationMs ?? 0) / 1_000);
      ctx.log.info(
        call.complete
          ? `the call is whole: it took ${seconds} s, and is analysed`
          : `the call is not whole: ${call.missing.join(', ')} has not come within 5 s`,
      );
    },
  );
}
