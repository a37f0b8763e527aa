/** Explains an answer that isn't the receiver's: who gave it, and what to do. */
import type { Answer } from './probe.ts';

interface Sent {
  /** The body that was sent, in words: `a small body`, `a body of 5 MB`. */
  readonly body: string;
}

/** What to do about such an answer, in a sentence; undefined for a status that says nothing about the cause. */
export function foreignAnswer(answer: Answer, { body }: Sent): string | undefined {
  const who = whoAnswered(answer);
  const { status } = answer;
  if (status === 413) {
    return `${who} refuses ${body} with 413, so long transcripts never reach the receiver: ${largerLimit(answer)}.`;
  }
  if (status === 429) {
    return (
      `${who} refuses ${body} with 429, as a rate limiter does, and a delivery that is refused like that may be lost: ` +
      'exempt this path from it, or mount the receiver before it.'
    );
  }
  return isGivingUp(status)
    ? `${who} gives up on ${body} with ${status}: let it pass bodies on as they come instead of buffering them (nginx: ` +
        'proxy_request_buffering off), and wait 30 s for the answer.'
    : undefined;
}

/** A timeout or a failed upstream, including the statuses of content delivery networks (520 to 524). */
function isGivingUp(status: number): boolean {
  return [408, 499, 502, 503, 504].includes(status) || (status >= 520 && status <= 524);
}

function largerLimit(answer: Answer): string {
  return isBodyParser(answer)
    ? 'this is a body parser such as express.json(), so mount the receiver before it'
    : 'raise its limit to limits.body (nginx: client_max_body_size)';
}

/** Express names the error only in development, but sends its header unless it is switched off. */
function isBodyParser({ headers, text }: Answer): boolean {
  return (
    headers.get('x-powered-by') === 'Express' || /PayloadTooLargeError|request entity too large/i.test(text)
  );
}

const maxName = 40;

/** Who answered, by the answer's headers. Proxies overwrite Server; X-Powered-By comes from the app behind. */
export function whoAnswered({ headers }: Pick<Answer, 'headers'>): string {
  for (const header of ['x-powered-by', 'server', 'via']) {
    const name = headers.get(header)?.trim();
    if (name) return `something in front of the receiver (${header}: ${name.slice(0, maxName)})`;
  }
  return 'something in front of the receiver, which does not identify itself,';
}

/** The headers of rate limiters; the receiver never sends them. */
const limiterHeaders = [
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-limit',
  'x-ratelimit-limit',
  'x-rate-limit-limit',
];

/** The header of a rate limiter that counted the request, no matter who answered. */
export function limiterHeaderOf({ headers }: Pick<Answer, 'headers'>): string | undefined {
  return limiterHeaders.find((name) => headers.has(name));
}
