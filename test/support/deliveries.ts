import { randomUUID } from 'node:crypto';
import { concurrently } from './concurrently.ts';
import {
  type BodySource,
  type Delivery,
  type Scheme,
  type SchemeName,
  type Receiver,
  sign,
} from './public.ts';

/** Secrets made up for the tests: base64 of "test-secret-one" and "test-secret-two". */
export const secret = 'whsec_dGVzdC1zZWNyZXQtb25l';
export const otherSecret = 'whsec_dGVzdC1zZWNyZXQtdHdv';

/** The URL of in-process deliveries. Nothing listens there: `receiver.fetch` takes them. */
export const address = 'https://calls.example.com/webhooks';

/** An event to be delivered. Ids that are left out are new each time; the other fields have fixed defaults. */
export interface EventParts {
  readonly traceId?: string;
  readonly eventName?: string;
  readonly callId?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

/** The body of an event, as text. */
export function bodyOf({
  traceId = randomUUID(),
  eventName = 'CallHandler.CallEnded',
  callId = `call-${randomUUID()}`,
  payload = {},
}: EventParts = {}): string {
  return JSON.stringify({
    traceId,
    eventName,
    organizationId: 'org_example',
    payload: { call_id: callId, agent_id: 'agent_1', status: 'success', ...payload },
  });
}

/** How to sign, where it differs from the default. */
export interface SignParts {
  readonly secrets?: string | readonly string[];
  readonly scheme?: SchemeName | Scheme;
  readonly timestamp?: number;
  readonly traceId?: string;
}

/** The headers of a body that the platform has signed. */
export function signedHeaders(body: string | Uint8Array, parts: SignParts = {}): Record<string, string> {
  return { 'content-type': 'application/json', ...sign(body, { secrets: secret, ...parts }) };
}

/** What the receiver answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: { readonly status?: string; readonly traceId?: string; readonly error?: string };
}

/** Delivers a body in-process, signed unless headers are given. */
export async function deliver(
  receiver: Pick<Receiver, 'fetch'>,
  body: string | Uint8Array<ArrayBuffer> = bodyOf(),
  headers: Readonly<Record<string, string>> = signedHeaders(body),
): Promise<Answer> {
  return answerOf(await receiver.fetch(new Request(address, { method: 'POST', headers, body })));
}

/** How many deliveries come at once: few enough that the slowest machine records them well within the second. */
const atOnce = 50;

/**
 * Delivers bodies in-process, some at a time, and throws unless all are answered 200. The receiver needs a
 * clock without that timeout or a manual one: on a busy machine, one of many writes may take longer than its sender waits.
 */
export async function deliverAll(receiver: Receiver, bodies: readonly string[]): Promise<void> {
  await concurrently(bodies, atOnce, async (body) => {
    const { status, json } = await deliver(receiver, body);
    if (status !== 200) throw new Error(`a delivery was answered ${status}: ${JSON.stringify(json)}`);
  });
}

/** Delivers a body over HTTP, signed unless headers are given. */
export async function post(
  url: string,
  body: string = bodyOf(),
  headers: Readonly<Record<string, string>> = signedHeaders(body),
): Promise<Answer> {
  return answerOf(await fetch(url, { method: 'POST', headers, body }));
}

async function answerOf(response: Response): Promise<Answer> {
  const json = (await response.json()) as Answer['json'];
  return { status: response.status, headers: response.headers, json };
}

/** A delivery as an adapter passes it on: authentic, and over TLS, unless the given parts differ. */
export function deliveryOf({
  body = bodyOf(),
  source = { kind: 'bytes', bytes: Buffer.from(body) },
  headers = {},
  ...parts
}: Partial<Omit<Delivery, 'body'>> & {
  readonly body?: string;
  readonly source?: BodySource;
} = {}): Delivery {
  return {
    method: 'POST',
    headers: { host: 'calls.example.com', ...signedHeaders(body), ...headers },
    body: source,
    peerAddress: '127.0.0.1',
    encrypted: true,
    appTrustProxy: undefined,
    ...parts,
  };
}
