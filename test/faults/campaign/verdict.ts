/** Judges a history: whether what was answered with 200 has become what was promised. */
import { type Line, linesOf } from './history.ts';
import { eventNames, handlers } from './terms.ts';

export interface Verdict {
  readonly faults: Readonly<Record<string, number>>;
  readonly sent: number;
  /** Events of which a delivery was answered with 200. */
  readonly acknowledged: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly rows: number;
  /** What breaks a promise, in words; the first of each kind. */
  readonly violations: Readonly<Record<string, readonly string[]>>;
}

interface SentEvent {
  readonly callId: string;
  readonly eventName: string;
  /** When its first delivery began. */
  readonly at: number;
  /** When a delivery of it was first answered with 200. */
  acknowledgedAt: number;
  accepted: number;
  duplicates: number;
  /** Deliveries without an answer that says whether a receiver has it. */
  unanswered: number;
  stored: number;
}

/** Deliveries of the adversary's own, beside those of the event, and how a receiver answers each. */
const forgeries: ReadonlyMap<string | undefined, string> = new Map([
  ['tampered', '401'],
  ['wrong_secret', '401'],
  ['rubbish', '200 quarantined'],
]);
/** The join is called when one of these has come. */
const joined = new Set<string>(eventNames.slice(1));

/** How many violations of a kind are listed one by one. */
const maxListed = 20;

/** The verdict on a history that was written. */
export async function judged(file: string): Promise<Verdict> {
  const judge = new Judge();
  for await (const line of linesOf(file)) judge.take(line);
  return judge.verdict();
}

/** Takes in the lines of a history one by one. */
export class Judge {
  readonly #events = new Map<string, SentEvent>();
  readonly #faults: Record<string, number> = {};
  readonly #answers: Record<string, number> = {};
  readonly #violations: Record<string, string[]> = {};
  /** For each handler, how many rows there are by event, or by call for a join. */
  readonly #rows = new Map<string, Map<string, number>>(handlers.map(({ name }) => [name, new Map()]));
  /** For each strict handler and each call, when the delivery began that began last of those of its rows. */
  readonly #latest = new Map<string, number>();
  /** Events of which a receiver may have a delivery that another one has answered. */
  readonly #askedAgain = new Set<string>();
  #rowCount = 0;
  #isOver = false;

  take(line: Line): void {
    if (line.kind === 'fault') count(this.#faults, line.fault);
    else if (line.kind === 'sent')
      this.#events.set(line.traceId, {
        ...line,
        acknowledgedAt: Infinity,
        accepted: 0,
        duplicates: 0,
        unanswered: 0,
        stored: 0,
      });
    else if (line.kind === 'answered') this.#answered(line);
    else if (line.kind === 'asked again') this.#askedAgain.add(line.traceId);
    else if (line.kind === 'stored') this.#stored(line.traceId);
    else if (line.kind === 'row') this.#row(line);
    else if (line.kind === 'undone') this.#violated('not done', `${line.count} ${line.what}`);
    else if (line.kind === 'ended')
      this.#violated('ended by itself', `receiver ${line.receiver} with ${line.code}`);
    else if (line.kind === 'over') this.#isOver = true;
  }

  verdict(): Verdict {
    if (!this.#isOver) this.#violated('incomplete', 'the history has no end');
    let acknowledged = 0;
    const calls = new Set<string>();
    for (const [traceId, event] of this.#events) {
      if (event.accepted > 1) this.#violated('accepted twice', traceId);
      if (event.stored > 1) this.#violated('stored twice', traceId);
      const mayBeFirst = event.accepted + event.unanswered > 0 || this.#askedAgain.has(traceId);
      if (event.duplicates > 0 && !mayBeFirst) this.#violated('taken from a forgery', traceId);
      if (event.acknowledgedAt < Infinity) {
        acknowledged += 1;
        if (event.stored === 0) this.#violated('lost', traceId);
      } else if (event.stored === 0) continue;
      if (joined.has(event.eventName)) calls.add(event.callId);
      for (const handler of handlers) if (!handler.isJoin) this.#mustHave(handler, traceId);
    }
    for (const callId of calls)
      for (const handler of handlers) if (handler.isJoin) this.#mustHave(handler, callId);
    return {
      faults: this.#faults,
      sent: this.#events.size,
      acknowledged,
      answers: this.#answers,
      rows: this.#rowCount,
      violations: this.#violations,
    };
  }

  #answered({ at, traceId, status, result, disturbance }: Line & { readonly kind: 'answered' }): void {
    const answer = status === undefined ? 'none in time' : `${status} ${result ?? ''}`.trim();
    count(this.#answers, [disturbance, answer].filter(Boolean).join(': '));
    const event = this.#events.get(traceId);
    if (!event) return this.#violated('unknown', `an answer to ${traceId}, which was not sent`);
    const isUnanswered = status === undefined || status >= 500;
    const toForgery = forgeries.get(disturbance);
    if (toForgery !== undefined) {
      const isExpected = isUnanswered || answer === toForgery;
      if (!isExpected) this.#violated('forgery taken', `${traceId}, ${disturbance}: ${answer}`);
      return;
    }
    if (status === 200) event.acknowledgedAt = Math.min(event.acknowledgedAt, at);
    if (isUnanswered) event.unanswered += 1;
    else if (answer === '200 accepted') event.accepted += 1;
    else if (answer === '200 duplicate') event.duplicates += 1;
    else this.#violated('refused', `${traceId}: ${answer}`);
  }

  #stored(traceId: string): void {
    const event = this.#events.get(traceId);
    if (event) event.stored += 1;
    else this.#violated('unknown', `${traceId} is in the inbox, and was not sent`);
  }

  #row({ handler: name, callId, traceId }: Line & { readonly kind: 'row' }): void {
    this.#rowCount += 1;
    const handler = handlers.find((one) => one.name === name);
    const rows = this.#rows.get(name);
    if (!handler || !rows) return this.#violated('unknown', `a row of ${name}`);
    const key = handler.isJoin ? callId : traceId;
    rows.set(key, (rows.get(key) ?? 0) + 1);
    if (handler.order !== 'strict') return;
    // Of two events whose deliveries overlap, either may be the first.
    const { at, acknowledgedAt } = this.#events.get(traceId) ?? { at: 0, acknowledgedAt: Infinity };
    const latest = this.#latest.get(`${name} ${callId}`) ?? 0;
    if (acknowledgedAt < latest) this.#violated('out of order', `${name}: ${traceId} after a later one`);
    this.#latest.set(`${name} ${callId}`, Math.max(latest, at));
  }

  #mustHave({ name, isOnce }: (typeof handlers)[number], key: string): void {
    const rows = this.#rows.get(name)?.get(key) ?? 0;
    if (rows === 0) this.#violated('not handled', `${name}: ${key}`);
    if (rows > 1 && isOnce) this.#violated('doubled', `${name}: ${key}, ${rows} times`);
  }

  #violated(kind: string, what: string): void {
    const listed = (this.#violations[kind] ??= []);
    if (listed.length < maxListed) listed.push(what);
    else if (listed.length === maxListed) listed.push('and others');
  }
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
