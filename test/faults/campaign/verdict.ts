/** Judges a history: whether what was answered with 200 has become what was promised. */
import { type Line, linesOf } from './history.ts';
import { handlers } from './terms.ts';

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
  readonly place: number;
  isAcknowledged: boolean;
  accepted: number;
  stored: number;
}

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
  /** For each strict handler, the place of the latest row of each call. */
  readonly #latest = new Map<string, number>();
  #rowCount = 0;
  #isOver = false;

  take(line: Line): void {
    if (line.kind === 'fault') count(this.#faults, line.fault);
    else if (line.kind === 'sent')
      this.#events.set(line.traceId, { ...line, isAcknowledged: false, accepted: 0, stored: 0 });
    else if (line.kind === 'answered') this.#answered(line);
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
      if (!event.isAcknowledged) continue;
      acknowledged += 1;
      calls.add(event.callId);
      if (event.stored === 0) this.#violated('lost', traceId);
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

  #answered({ traceId, status, result }: Line & { readonly kind: 'answered' }): void {
    count(this.#answers, status === undefined ? 'none in time' : `${status} ${result ?? ''}`.trim());
    const event = this.#events.get(traceId);
    if (!event) return this.#violated('unknown', `an answer to ${traceId}, which was not sent`);
    if (status === 200) event.isAcknowledged = true;
    if (result === 'accepted') event.accepted += 1;
    // The sender sends nothing that has to be refused or can't be read.
    const isExpected =
      status === undefined || status >= 500 || ['accepted', 'duplicate'].includes(result ?? '');
    if (!isExpected) this.#violated('refused', `${traceId}: ${status} ${result}`);
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
    const place = this.#events.get(traceId)?.place ?? -1;
    const latest = this.#latest.get(`${name} ${callId}`) ?? -1;
    if (place < latest) this.#violated('out of order', `${name}: ${traceId} after place ${latest}`);
    this.#latest.set(`${name} ${callId}`, place);
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
