import { isObject } from '../../kit/values.ts';
import { jsonIn, readBounded, sentOnce } from '../../kit/http-bodies.ts';
import { fetchCauseOf } from '../../kit/error-text.ts';
import type { Clock } from '../../kit/clock.ts';

const timeout = 10_000;
/** The same for a large body, which takes time to send: about as long as the platform keeps trying. */
export const largeTimeout = 30_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body; empty if it is longer than any refusal. */
  readonly text: string;
}

export type Probe =
  | { readonly kind: 'failed'; readonly cause: string }
  | (Answer & {
      readonly kind: 'answered';
      /** The `error` of a JSON body, which names a receiver's refusal. */
      readonly code: string | undefined;
      readonly latency: number;
      /** How far this machine's clock is ahead of the answer's Date header, in milliseconds; undefined without one. */
      readonly ahead: number | undefined;
    });

/**
 * Sends an unsigned delivery, as anybody could. The receiver's refusal shows what would stop genuine deliveries. It
 * isn't signed, because a verified delivery would be stored, and could pin a scheme.
 */
export function probeReceiver(url: URL, clock: Clock): Promise<Probe> {
  return post(url, '{"probe":"doctor"}', clock, timeout);
}

/** The same with a body of the given size. The receiver stores only its beginning. */
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

/** A Date header is truncated to seconds, so it is late by half a second on average; in milliseconds. */
const halfSecond = 500;

/** The largest answer to read, in bytes: a refusal is one line of JSON, and an endless answer would fill memory. */
const maxAnswer = 65_536;

async function textOf({ body }: Response): Promise<string> {
  const bytes = await readBounded(body, maxAnswer);
  return bytes?.toString() ?? '';
}

function codeOf(text: string): string | undefined {
  const answer = jsonIn(text);
  return isObject(answer) && typeof answer['error'] === 'string' ? answer['error'] : undefined;
}
