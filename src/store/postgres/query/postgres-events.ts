import type {
  DismissalStep,
  DismissalWrite,
  DismissedRun,
  EventFilter,
  EventStore,
  EventStretch,
  KeptEventPage,
  KeptEventWithBytes,
  ReplayCandidate,
  ReplayQuestion,
  ReplayWrite,
  ReplayedRuns,
} from '../../event-store.ts';
import type { Sequence } from '../../event-record.ts';
import { type PageRange, findPage } from '../../shared/event-rows.ts';
import type { Session } from '../connection/session.ts';
import { dismiss, wouldDismiss } from './dismissals.ts';
import { findEvents } from './event-search.ts';
import { eventWithTraceId, lastSequence, stretchOf, summariesOf } from './kept-events.ts';
import { replayed, requeue, wouldRequeue } from './replays.ts';

/** How many events a replay takes in one transaction at the most. */
const stretchEvents = 100;

/** Looking at events, replaying them and dismissing their runs, in Postgres. */
export class PostgresEvents implements EventStore {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  get(traceId: string): Promise<KeptEventWithBytes | undefined> {
    return eventWithTraceId(this.#session, traceId);
  }

  async list(filter: EventFilter, page: PageRange): Promise<KeptEventPage> {
    const { sequences, cursor } = await findPage(
      page,
      () => this.lastSequence(),
      (range) => findEvents(this.#session, filter, range),
    );
    return { events: await summariesOf(this.#session, sequences), cursor };
  }

  lastSequence(): Promise<Sequence> {
    return lastSequence(this.#session);
  }

  async stretch(filter: EventFilter, after: Sequence, upTo: Sequence): Promise<EventStretch> {
    const range = { from: after + 1, to: upTo, limit: stretchEvents, latestFirst: false };
    const { sequences, reached } = await findEvents(this.#session, filter, range);
    return stretchOf(this.#session, sequences, reached);
  }

  wouldRequeue(step: ReplayQuestion): Promise<readonly ReplayCandidate[]> {
    return this.#session.write((transaction) => wouldRequeue(transaction, step));
  }

  requeue(step: ReplayWrite): Promise<readonly ReplayCandidate[] | undefined> {
    return this.#session.write((transaction) => requeue(transaction, step));
  }

  wouldDismiss(step: DismissalStep): Promise<readonly DismissedRun[]> {
    return this.#session.write((transaction) => wouldDismiss(transaction, step));
  }

  dismiss(step: DismissalWrite): Promise<readonly DismissedRun[] | undefined> {
    return this.#session.write((transaction) => dismiss(transaction, step));
  }

  replayed(replay: number): Promise<ReplayedRuns> {
    return replayed(this.#session, replay);
  }
}
