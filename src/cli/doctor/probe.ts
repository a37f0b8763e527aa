import { isObject } from '../../kit/values.ts';
import { jsonIn, readBounded, sentOnce } from '../../kit/http-bodies.ts';
import { fetchCauseOf } from '../../kit/error-text.ts';
import type { Clock } from '../../kit/clock.ts';

/** How long to wait for an answer, in milliseconds. */
const timeout = 10_000;
/** The same for a large body, which takes time to send: about as long as the platform goes on trying. */
export const largeTimeout = 30_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Its body, or nothing if that is longer than any refusal. */
  readonly text: string;
}

/** The answer to a request, or why there was none. */
export type Probe =
  | { readonly kind: 'failed'; readonly cause: string }
  | (Answer & {
      readonly kind: 'answered';
      /** The `error` of a JSON body, which names a receiver's refusal. */
      readonly code: string | undefined;
      /** In milliseconds. */
      readonly latency: number;
      /** How far this machine's clock is ahead of the answer's Date header, in milliseconds; undefined without one. */
      readonly ahead: number | undefined;
    });

/**
 * Sends an unsigned delivery, as anybody could. A receiver refuses it, and the refusal shows what is in the way of
 * genuine ones. It is not signed, because a delivery that verifies would be stored, and could pin a scheme.
 */
export function probeReceiver(url: URL, clock: Clock): Promise<Probe> {
  return post(url, '{"probe":"doctor"}', clock, timeout);
}

/** The same with a body of so many bytes. Of such a delivery, the receiver keeps no more than the beginning. */
export function probeLargeBody(url: URL, bytes: number, clock: Clock): Promise<Probe> {
  const [head, tail] = ['{"probe":"doctor","filled":"', '"}'];
  const filling = 'x'.repeat(Math.max(0, bytes - head.length - tail.length));
  return post(url, `${head}${filling}${tail}`, clock, largeTimeout);
}

function post(url: URL, text: string, clock: Clock, within: number): Promise<Probe> {
  const sent = sentOnce(new TextEncoder().encode(text), { 'content-type': 'application/json' });
  return probe(url, { method: 'POST', ...sent }, clock, within);
}

/** Sends a HEAD request, without any key, for the Date header of the answer. */
export function probeClock(url: URL, clock: Clock): Promise<Probe> {
  return probe(url, { method: 'HEAD' }, clock);
}

async function probe(url: URL, request: RequestInit, clock: Clock, within = timeout): Promise<Probe> {
  const startedAt = clock.elapsed();
  const sentAt = clock.now();
  try {
    const signal = AbortSignal.timeout(within);
    const response = await fetch(url, { ...request, redirect: 'manual', signal });
    const latency = clock.elapsed() - startedAt;
    const { status, headers } = response;
    const date = Date.parse(headers.get('date') ?? '');
    const text = await textOf(response);
    return {
      kind: 'answered',
      status,
      headers,
      text,
      code: codeOf(text),
      latency: Math.round(latency),
      ahead: Number.isNaN(date) ? undefined : Math.round(sentAt + latency / 2 - (date + halfSecond)),
    };
  } catch (error) {
    return { kind: 'failed', cause: fetchCauseOf(error) };
  }
}

/** A Date header is cut to whole seconds, so on average half a second is missing; in milliseconds. */
const halfSecond = 500;

/**
 * The largest answer that is read, in bytes. A refusal is one line of JSON, so a longer answer is none, and an endless
 * one must not fill the memory.
 */
const maxAnswer = 65_536;

async function textOf({ body }: Response): Promise<string> {
  const bytes = await readBounded(body, maxAnswer);
  return bytes?.toString() ?? '';
}

function codeOf(text: string): string | undefined {
  const answer = jsonIn(text);
  return isObject(answer) && typeof answer['error'] === 'string' ? answer['error'] : undefined;
}
