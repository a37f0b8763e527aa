import { styleText } from 'node:util';
import type { LogEvent } from '../telemetry.ts';
import type { DeliveryAnswer } from '../testing/deliver.ts';
import type { Step } from './demo-script.ts';

/** A line of the receiver's log, as far as it is shown. */
interface LogLine {
  readonly event?: LogEvent;
  readonly level: number;
  readonly msg: string;
  readonly handler?: string;
  readonly callId?: string;
  readonly attempt?: number;
  readonly cause?: string;
  readonly retryAt?: string;
  readonly time: number;
}

const explanations: Readonly<Record<string, string>> = {
  accepted: 'on disk, then answered; handlers run after the answer',
  duplicate: 'already in the inbox; no handler runs',
  not_authentic: 'in quarantine; no handler sees it',
};

/** Pino's level of a warning. */
const warning = 40;

/**
 * Shows people what the log tells programs: it is where the receiver's logger writes. Lines that come while a
 * delivery waits for its answer are shown after the answer, which is when the handlers run.
 */
export class DemoView {
  readonly #print: (line: string) => void;
  #held: string[] | undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Called by pino with one line of JSON. */
  write(json: string): void {
    const text = describe(JSON.parse(json) as LogLine);
    if (text === undefined) return;
    if (this.#held) this.#held.push(text);
    else this.#print(text);
  }

  sent({ name, callId, remark }: Step): void {
    this.#held = [];
    this.#print('');
    this.#print(`→ ${name.padEnd(16)} ${callId.padEnd(8)} ${styleText('dim', remark)}`);
  }

  answered({ status, body }: DeliveryAnswer): void {
    const { status: word, error } = body as { status?: string; error?: string };
    const answer = word ?? error ?? '';
    const color = status === 200 ? (answer === 'accepted' ? 'green' : 'yellow') : 'red';
    const explanation = explanations[answer] ?? '';
    this.#print(`← ${styleText(color, `${status} ${answer}`.padEnd(25))} ${styleText('dim', explanation)}`);
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.#print(line);
  }
}

/** A handler's own words, or how its run ended if not well. The rest of the log is for programs. */
function describe(line: LogLine): string | undefined {
  const { event, handler = '', callId = '', attempt, cause, retryAt, time, level, msg } = line;
  const by = `    handler ${handler.padEnd(10)} ${callId.padEnd(8)}`;
  if (event === undefined) return handler === '' ? undefined : `${by} ${msg}`;
  if (event === 'run_retry') {
    const seconds = Math.max(0, Math.round((Date.parse(retryAt ?? '') - time) / 1_000));
    return `${by} ${styleText('yellow', `not done at attempt ${attempt}; tried again in ${seconds} s`)}`;
  }
  if (event === 'run_dead') return `${by} ${styleText('red', `given up, kept as a dead letter: ${cause}`)}`;
  return level > warning ? `    ${styleText('red', msg)}` : undefined;
}
