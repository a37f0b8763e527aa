/** The handlers of a made-up app: one writes to a CRM, which may be down. */
import type { Receiver } from '../../src/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** The name of the handler that fails while the CRM is down. */
export const failing = 'crm-sync';

/** Registers them. They take their time by the clock. */
export function handle(receiver: Receiver, clock: ManualClock, isDown: () => boolean) {
  let running = 0;
  /** Waits for so long, or up to twice as long: the same for the same event. */
  const takes = async (milliseconds: number, { traceId }: { readonly traceId: string }): Promise<void> => {
    const more = Number.parseInt(traceId.replaceAll('-', '').slice(0, 4), 16) % milliseconds;
    running += 1;
    await new Promise<void>((resolve) => clock.after(milliseconds + more, resolve));
    running -= 1;
  };
  const retry = { attempts: 3, base: '1m', factor: 2 } as const;
  receiver.on('CallHandler.CallEnded', { name: failing, retry }, async (event) => {
    await takes(isDown() ? 1_500 : 140, event);
    if (isDown()) throw new Error('the CRM answered 503: Service Unavailable');
  });
  receiver.on('CallHandler.*', { name: 'live-board' }, (event) => takes(6, event));
  receiver.on('CallHandler.CallTransferred', { name: 'notify-team', retry }, (event) => takes(60, event));
  receiver.onCall(
    {
      name: 'save-call',
      events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
      within: '10m',
    },
    () => {},
  );
  return { areRunning: () => running > 0 };
}
