import type { Clock } from '../../../kit/clock.ts';
import { type CallEventRow, callRecordOf } from '../../../calls/timeline.ts';
import {
  type EventFactsRow,
  type ListedCall,
  callEventOf,
  callPageOf,
  matchesCall,
  namesAmong,
} from '../../call-rows.ts';
import type { CallFilter, CallPage, CallStore, JoinLookBack, JoinView } from '../../call-store.ts';
import type { Sequence } from '../../sequence.ts';
import type { Session } from '../connection/session.ts';
import { fromText, toText } from '../connection/text.ts';
import { lookBack, see } from '../work/joins.ts';

/** How many calls one look computes: each reads the events of its call. */
const callsAtOnce = 100;

/** Calls and joins in Postgres. A call is stored nowhere, but computed from its events whenever somebody asks. */
export class PostgresCalls implements CallStore {
  readonly #session: Session;
  readonly #clock: Clock;

  constructor(session: Session, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
  }

  async eventsOf(callId: string): Promise<readonly CallEventRow[]> {
    const rows = await this.#session.read<EventFactsRow>(
      `select event_name, trace_id, organization_id, agent_id, occurred_at, received_at, facts
       from ringback.events where call_id = $1 order by sequence`,
      [toText(callId)],
    );
    return rows.map((row) => callEventOf(row, fromText));
  }

  /** By their first event, latest first. A filter that matches little has to look at much, in steps. */
  async list(filter: CallFilter): Promise<CallPage> {
    // One more than asked for tells whether there is another page.
    const wanted = filter.limit + 1;
    const found: ListedCall[] = [];
    let before: Sequence | undefined =
      filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(filter.cursor);
    while (before !== undefined && found.length < wanted) {
      const firsts = await this.#firstEvents(filter, before);
      for (const { sequence, call_id: id } of firsts) {
        const callId = fromText(id);
        const call = callRecordOf(callId, await this.eventsOf(callId));
        if (matchesCall(call, filter)) found.push({ sequence, call });
        if (found.length === wanted) break;
      }
      before = firsts.length < callsAtOnce ? undefined : firsts.at(-1)?.sequence;
    }
    return callPageOf(found, filter.limit);
  }

  async see(handler: string, callId: string, events: readonly string[]): Promise<JoinView> {
    const rows = await this.eventsOf(callId);
    const names = namesAmong(rows, events);
    const hasSeenAll = await this.#session.write((transaction) =>
      see(transaction, { handler, callId }, names),
    );
    // If the events have been erased meanwhile, there is nothing left to see.
    return { events: rows, isSettled: hasSeenAll || rows.length === 0 };
  }

  lookBack(join: JoinLookBack): Promise<Sequence | undefined> {
    return lookBack(this.#session, join, this.#clock.now());
  }

  /** The first events of calls. The condition on the agent only spares computing calls; the computed record decides. */
  #firstEvents({ since, agentId }: CallFilter, before: Sequence) {
    return this.#session.read<{ sequence: Sequence; call_id: string }>(
      `select sequence, call_id from ringback.events e
       where sequence < $1 and call_id is not null and ($2::bigint is null or received_at >= $2)
         and not exists (select from ringback.events o where o.call_id = e.call_id and o.sequence < e.sequence)
         and ($3::text is null or exists (
           select from ringback.events o where o.call_id = e.call_id and o.agent_id = $3))
       order by sequence desc limit ${callsAtOnce}`,
      [before, since ?? null, agentId === undefined ? null : toText(agentId)],
    );
  }
}
