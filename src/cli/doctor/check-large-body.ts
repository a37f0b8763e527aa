/** Whether a body of the receiver's maximum size reaches it, and if not, who refuses it. */
import { isRefusal } from '../../errors/refusals.ts';
import { platformTimeout, refusalMessage } from './check-address.ts';
import { type Finding, ok, skipped, warning, wrong } from './findings.ts';
import { foreignAnswer, limiterHeaderOf, whoAnswered } from './foreign-answer.ts';
import { type Probe, largeTimeout } from './probe.ts';

/** The receiver's default `limits.body`, in bytes. */
export const defaultBody = 5 * 1024 ** 2;

const check = 'large body';

/** Whether a receiver answered, so that a large body is worth trying. */
export function isByReceiver(probe: Probe): boolean {
  return probe.kind === 'answered' && isRefusal(probe.code, probe.status);
}

export const notSent = skipped(check, 'deliveries do not get this far: see "reachable"');

/** The finding from the answer to a large body, compared to a receiver's answer to a small one. */
export function checkLargeBody(large: Probe, small: Probe, bytes: number): Finding {
  const body = `a body of ${inWords(bytes)}`;
  if (large.kind === 'failed') return wrong(check, unanswered(body, large.cause));
  const { status, code, latency } = large;
  if (!isRefusal(code, status)) return wrong(check, byAnother(large, body));
  if (code === 'too_large') {
    return warning(
      check,
      `the receiver itself refuses ${body}, so its limits.body is smaller: pass that size in --body, to check what is in front.`,
    );
  }
  if (code === 'timeout' || code === 'unavailable') {
    return wrong(check, `${reached[code]} ${body}: ${hints[code]}`);
  }
  if (small.kind !== 'answered' || code !== small.code) {
    return wrong(check, `${body} is refused although a small one is not: ${refusalMessage(code)}`);
  }
  if (latency < platformTimeout) return ok(check, `${body} gets as far as a small one`);
  return warning(
    check,
    `${body} gets as far as a small one, but was answered within ${latency} ms, and the platform waits for ` +
      `${platformTimeout} ms: something in front buffers it, or the connection from here is slow.`,
  );
}

const reached = {
  timeout: 'the receiver did not get all of',
  unavailable: 'the receiver had no room for',
} as const;

const hints = {
  timeout: 'let the proxy pass bodies on as they come, and faster than limits.bodyTimeout.',
  unavailable: 'raise limits.inflight, or see its log.',
} as const;

function unanswered(body: string, cause: string): string {
  return (
    `${body} is not answered within ${largeTimeout / 1_000} s (${cause}), while a small one is: something in front of the ` +
    'receiver closes the connection, or buffers it and gives up. Raise its limit for bodies, and let it pass them on as ' +
    'they come.'
  );
}

function byAnother(large: Extract<Probe, { kind: 'answered' }>, body: string): string {
  return (
    foreignAnswer(large, { body }) ??
    `${whoAnswered(large)} answers ${body} with ${large.status}, while a small one reaches the receiver: check its limits ` +
      'and its rules.'
  );
}

/**
 * Warns of a rate limiter in front that shows in the answers' headers. It refuses deliveries only after many requests,
 * so the doctor's few don't meet its refusal.
 */
export function checkLimiter(probes: readonly (Probe | undefined)[]): readonly Finding[] {
  const header = probes
    .map((probe) => (probe?.kind === 'answered' ? limiterHeaderOf(probe) : undefined))
    .find((name) => name !== undefined);
  if (header === undefined) return [];
  const message =
    `a rate limiter in front of the receiver counts deliveries (the header ${header}): a delivery that it refuses with 429 ` +
    'may be lost. Exempt this path from it, or mount the receiver before it.';
  return [warning('rate limiter', message)];
}

/** A size in words: `5 MB`, `100 KB`. */
function inWords(bytes: number): string {
  const [unit, name] = bytes >= 1024 ** 2 ? [1024 ** 2, 'MB'] : [1024, 'KB'];
  return `${Math.round((10 * bytes) / unit) / 10} ${name}`;
}
