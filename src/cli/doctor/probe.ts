import { readBounded } from '../../kit/read-bounded.ts';
import { fetchCauseOf } from '../../kit/error-text.ts';
import type { Clock } from '../../kit/clock.ts';

/** How long an answer is waited for, in milliseconds. */
const patience = 10_000;

/** What a request came back with. */
export type Probe =
  | { readonly kind: 'failed'; readonly cause: string }
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The `error` of a JSON body, which names a receiver's refusal. */
      readonly code: string | undefined;
      /** In milliseconds. */
      readonly latency: number;
      /** How far this machine's clock is ahead of the answer's Date header, in milliseconds; undefined without one. */
      readonly ahead: number | undefined;
    };

/**
 * Sends an unsigned delivery, as a stranger would. A receiver refuses it, and where it does tells what stands in the
 * way of genuine ones. It is not signed: one that verified would be stored, and could pin a layout.
 */
export function probeReceiver(url: URL, clock: Clock): Promise<Probe> {
  return probe(
    url,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"probe":"doctor"}' },
    clock,
  );
}

/** Asks for nothing but an answer, without any key. */
export function probeClock(url: URL, clock: Clock): Promise<Probe> {
  return probe(url, { method: 'HEAD' }, clock);
}

async function probe(url: URL, request: RequestInit, clock: Clock): Promise<Probe> {
  const startedAt = clock.elapsed();
  const sentAt = clock.now();
  try {
    const signal = AbortSignal.timeout(patience);
    const response = await fetch(url, { ...request, redirect: 'manual', signal });
    const latency = clock.elapsed() - startedAt;
    const date = Date.parse(response.headers.get('date') ?? '');
    return {
      kind: 'answered',
      status: response.status,
      code: codeOf(await textOf(response)),
      latency: Math.round(latency),
      ahead: Number.isNaN(date) ? undefined : Math.round(sentAt + latency / 2 - (date + halfSecond)),
    };
  } catch (error) {
    return { kind: 'failed', cause: fetchCauseOf(error) };
  }
}

/** A Date header is cut to whole seconds: on average half of one is missing. */
const halfSecond = 500;

/** A refusal is one line of JSON. What is longer is none, and what never ends must not fill the memory; in bytes. */
const longestAnswer = 65_536;

async function textOf({ body }: Response): Promise<string> {
  const bytes = await readBounded(body, longestAnswer);
  return bytes?.toString() ?? '';
}

function codeOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
