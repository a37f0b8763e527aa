import { styleText } from 'node:util';
import type { LogEvent } from '../../receiver/telemetry.ts';
import type { Disturbance } from '../../sandbox/delivery/adversary.ts';
import type { Attempt } from '../../sandbox/model.ts';
import type { Scene } from './script.ts';

interface LogLine {
  readonly event?: LogEvent;
  readonly level: number;
  readonly msg: string;
  readonly handler?: string;
  readonly callId?: string;
  readonly traceId?: string;
  readonly attempt?: number;
  readonly cause?: string;
  readonly retryAt?: string;
  readonly time: number;
}

const names: Readonly<Record<string, string>> = {
  'CallHandler.CallStarted': 'the beginning',
  'CallHandler.CallEnded': 'the end',
  'CallHandler.CallTransferred': 'to a person, with the transcript',
  'callAnalysis.pcaCompleted': 'the analysis',
};

const disturbances: Readonly<Record<Disturbance, string>> = {
  duplicated: 'the same delivery again',
  delayed: 'held back',
  dropped: 'the connection is cut before the answer',
  tampered: 'forged: changed after it was signed',
  wrong_secret: 'forged: signed with another secret',
  rubbish: 'signed, but no event',
};

/** Forged deliveries, which come before the genuine one and have the same trace id. */
const forgeries: ReadonlySet<string | undefined> = new Set<Disturbance>([
  'tampered',
  'wrong_secret',
  'rubbish',
]);

const explanations: Readonly<Record<string, string>> = {
  accepted: 'on disk, then answered; handlers run after the answer',
  duplicate: 'already in the inbox; no handler runs',
  quarantined: 'kept for a person; no handler sees it',
  not_authentic: 'in quarantine; no handler sees it',
};

const warning = 40;

/**
 * Shows what the sandbox and the receiver's log report; the receiver's logger writes to it. An attempt is reported
 * after it has ended, when handlers may already have run. So the lines of handlers about the current call are held back
 * until their delivery has been shown.
 */
export class DemoView {
  readonly #print: (line: string) => void;
  #callId = '';
  #hasEnded = false;
  readonly #shown = new Set<string>();
  #held: { readonly traceId: string; readonly text: string }[] = [];

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  begin({ plan: { callId }, remark }: Scene): void {
    this.#callId = callId;
    this.#shown.clear();
    this.#print('');
    this.#print(`${callId}: ${remark}`);
  }

  attempted(attempt: Attempt): void {
    const { eventName, callId, traceId, disturbance } = attempt;
    const name = eventName.slice(eventName.indexOf('.') + 1);
    this.#print(`→ ${name.padEnd(16)} ${callId.padEnd(8)} ${styleText('dim', remarkOn(attempt))}`);
    this.#print(answerOf(attempt));
    if (!forgeries.has(disturbance)) this.#release(traceId);
  }

  write(json: string): void {
    if (this.#hasEnded) return;
    const line = JSON.parse(json) as LogLine;
    const text = describe(line);
    if (text === undefined) return;
    const { callId, traceId } = line;
    const isEarly = callId === this.#callId && traceId !== undefined && !this.#shown.has(traceId);
    if (isEarly) this.#held.push({ traceId, text });
    else this.#print(text);
  }

  /** Shows no more lines: the counts are printed next, and lines of handlers in progress would follow them. */
  end(): void {
    this.#hasEnded = true;
  }

  #release(traceId: string): void {
    this.#shown.add(traceId);
    const held = this.#held;
    this.#held = held.filter((line) => line.traceId !== traceId);
    for (const line of held) if (line.traceId === traceId) this.#print(line.text);
  }
}

function remarkOn({ eventName, number, disturbance }: Attempt): string {
  const trouble = disturbances[disturbance as Disturbance];
  return [names[eventName], ...(number > 1 ? [`attempt ${number}`] : []), trouble]
    .filter((part) => part !== undefined)
    .join(', ');
}

function answerOf({ status, answer, failure }: Attempt): string {
  const word = wordOf(answer);
  const color = status === 200 ? (word === 'accepted' ? 'green' : 'yellow') : 'red';
  const text = status === undefined ? `no answer: ${failure}` : `${status} ${word}`;
  const explanation = status === undefined ? 'so it is delivered again' : (explanations[word] ?? '');
  return `← ${styleText(color, text.padEnd(25))} ${styleText('dim', explanation)}`;
}

/** The status or the error code in the receiver's answer. */
function wordOf(answer = ''): string {
  return /"(?:status|error)":"(\w+)"/.exec(answer)?.[1] ?? '';
}

/** The text of a line to show: a handler's own log, a failed run, an error. Undefined for other lines. */
function describe(line: LogLine): string | undefined {
  const { event, handler = '', callId = '', attempt, cause, retryAt, time, level, msg } = line;
  const by = `    handler ${handler.padEnd(10)} ${callId.padEnd(8)}`;
  if (event === undefined) return handler === '' ? undefined : `${by} ${msg}`;
  if (event === 'run_retry') {
    const wait = retryAt === undefined ? 0 : Math.max(0, Math.round((Date.parse(retryAt) - time) / 1_000));
    return `${by} ${styleText('yellow', `not done at attempt ${attempt}; tried again in ${wait} s`)}`;
  }
  if (event === 'run_dead') return `${by} ${styleText('red', `given up, kept as a dead letter: ${cause}`)}`;
  return level > warning ? `    ${styleText('red', msg)}` : undefined;
}
