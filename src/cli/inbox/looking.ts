import { pino } from 'pino';
import { BodyDecoder, unlimited } from '../../events/decoding.ts';
import { Audit } from '../../operate/audit.ts';
import { Calls } from '../../operate/calls.ts';
import { DriftLedger } from '../../operate/drift.ts';
import { Erasure } from '../../operate/erasure.ts';
import { InboxEvents } from '../../operate/events.ts';
import { Failures } from '../../operate/failures.ts';
import { InboxHandlers } from '../../operate/handlers.ts';
import { Quarantine } from '../../operate/quarantine.ts';
import type { Authentication } from '../../operate/release.ts';
import { retentionSchema } from '../../receiver/options.ts';
import { Refusal } from '../../errors/refusals.ts';
import { systemClock } from '../../kit/clock.ts';
import { Telemetry } from '../../receiver/telemetry.ts';
import type { Store } from '../../store/store.ts';

/** What a person without handlers and secrets can read in an inbox, and dismiss, pause, discard or erase. */
export interface Looking {
  readonly events: Pick<InboxEvents, 'get' | 'list' | 'beginDismissal' | 'stop'>;
  readonly failures: Failures;
  readonly handlers: InboxHandlers;
  readonly audit: Pick<Audit, 'list'>;
  readonly calls: Calls;
  readonly drift: Pick<DriftLedger, 'list'>;
  readonly quarantine: Pick<Quarantine, 'get' | 'list' | 'discard'>;
  readonly erasure: Pick<Erasure, 'erase'>;
}

/** Nothing is released without secrets. */
const withoutSecrets: Authentication = {
  pinned: undefined,
  authenticateAgain: () => Promise.reject(new Refusal('not_authentic', 'secrets_not_set')),
  authenticateOtherwise: () => undefined,
  pin: () => Promise.resolve(),
  pinInstead: () => Promise.resolve(),
};

/** Gives these operations for a store that is open. */
export function lookInto(store: Store): Looking {
  const telemetry = new Telemetry(pino({ level: 'silent' }));
  const decoder = new BodyDecoder(unlimited);
  const requireStarted = (): void => {};
  const audit = new Audit({ store: store.audit, clock: systemClock, requireStarted });
  const common = { telemetry, requireStarted, audit };
  return {
    audit,
    events: new InboxEvents({
      ...common,
      store: store.events,
      entries: store.audit,
      decoder,
      clock: systemClock,
      handlerNames: () => [],
      route: () => [],
      onRequeued: () => {},
    }),
    failures: new Failures({ ...common, store: store.failures, history: store.history, clock: systemClock }),
    handlers: new InboxHandlers({
      ...common,
      store: store.handlers,
      clock: systemClock,
      registered: () => [],
      onChanged: async () => {},
    }),
    calls: new Calls({ ...common, store: store.calls }),
    drift: new DriftLedger({ ...common, store: store.drift, clock: systemClock }),
    quarantine: new Quarantine({
      ...common,
      store: store.quarantine,
      decoder,
      events: store.events,
      authentication: withoutSecrets,
      onReleased: () => {},
    }),
    erasure: new Erasure({
      ...common,
      store: store.retention,
      clock: systemClock,
      // The default, as in `serve`.
      traceIds: retentionSchema.parse({}).traceIds,
    }),
  };
}
